//! What some SDKs send and the service accepts, in the form that the emulator accepts.

use azure_core::http::{Request, Url};

use super::{
    operation::{Operation, RequestKind},
    written::body_of,
};

/// The Python SDK ends its paths with a slash.
pub(super) fn strip_trailing_slash(url: &mut Url) {
    let path = url.path().trim_end_matches('/');
    if path.len() < url.path().len() {
        let path = path.to_owned();
        url.set_path(&path);
    }
}

/// The JavaScript SDK sends a patch without condition as the bare array of its operations.
pub(super) fn wrap_bare_patch(operation: &Operation, request: &mut Request) {
    let is_patch = matches!(operation, Operation::Data { kind: RequestKind::Patch, .. });
    if !is_patch {
        return;
    }
    let body = body_of(request);
    if body.trim_ascii_start().starts_with(b"[") {
        let wrapped = [br#"{"operations":"#.as_slice(), body.as_ref(), b"}"].concat();
        request.set_body(wrapped);
    }
}
