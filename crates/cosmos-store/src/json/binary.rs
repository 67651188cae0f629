//! The binary JSON of the SDKs.

use super::Json;

/// The first byte.
pub(super) const PREAMBLE: u8 = 0x80;

/// Reads the value behind the preamble.
pub(super) fn read(bytes: &[u8]) -> Option<Json> {
    let _ = bytes;
    None
}
