//! Requests of some SDKs that the service accepts, in the form that the emulator accepts.

use azure_core::http::{Request, Url};

use super::{
    operation::{RequestKind, StoreOperation},
    written::body_of,
};

/// Removes the slash with which the Python SDK ends its paths.
pub(super) fn strip_trailing_slash(url: &mut Url) {
    let path = url.path().trim_end_matches('/');
    if path.len() < url.path().len() {
        let path = path.to_owned();
        url.set_path(&path);
    }
}

/// Wraps the bare array of operations that the JavaScript SDK sends as a patch without a condition.
pub(super) fn wrap_bare_patch(operation: &StoreOperation, request: &mut Request) {
    let is_patch = matches!(operation, StoreOperation::Data { kind: RequestKind::Patch, .. });
    if !is_patch {
        return;
    }
    let body = body_of(request);
    if body.trim_ascii_start().starts_with(b"[") {
        let wrapped = [br#"{"operations":"#.as_slice(), body.as_ref(), b"}"].concat();
        request.set_body(wrapped);
    }
}
