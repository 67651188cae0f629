//! The body of a trigger's invocation.

use axum::body::{Body, HttpBody};
use http_body_util::BodyExt;

/// The largest body of a trigger's invocation: 128 MiB. HTTP functions have no limit here.
///
/// A page of the change feed is about 4 MB; encoding it twice can grow a text made of quotes and
/// backslashes fourfold, and one made of control characters more.
pub const MAX_BODY_BYTES: usize = 128 * 1024 * 1024;

/// The error of a body that cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error(
        "the body is larger than {} MiB: lower maxItemsPerInvocation in the function.json",
        MAX_BODY_BYTES / (1024 * 1024)
    )]
    TooLarge,
    #[error("the body could not be read: {0}")]
    Broken(axum::Error),
}

/// The most memory that is reserved for an announced body. The buffer grows with the bytes that arrive.
const MAX_RESERVED_BYTES: u64 = 4 * 1024 * 1024;

/// Reads the whole body, in chunks of any sizes.
pub(crate) async fn read(mut body: Body) -> Result<Vec<u8>, BodyError> {
    let announced = body.size_hint().lower().min(MAX_RESERVED_BYTES);
    let mut bytes = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
    while let Some(frame) = body.frame().await {
        let Ok(chunk) = frame.map_err(BodyError::Broken)?.into_data() else {
            continue;
        };
        if bytes.len() + chunk.len() > MAX_BODY_BYTES {
            return Err(BodyError::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
