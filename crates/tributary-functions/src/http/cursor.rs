//! Cursors: the positions at which the next pages of lists begin.
//!
//! A cursor holds its list, filter included, and a position in it. The limit, the filter and the window
//! come from the request. So a cursor needs no signature. A caller that forges one gets the rest of the
//! same list from another position, for the price of a page.
//!
//! A type of position refuses values that no item has: an id that the store does not take, a date beyond
//! the year 9999. A list with a window also refuses a position outside of the window.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::ApiError;

/// The longest cursor, in characters. A cursor of the app has at most a path, a filter, a name and an id.
const MAX_CURSOR_CHARACTERS: usize = 8 * 1024;

#[derive(Serialize, Deserialize)]
struct Cursor<K>(
    /// The list: its path, and its filter when it has one.
    String,
    K,
);

pub(super) fn write(list: String, position: impl Serialize) -> Option<String> {
    let cursor = serde_json::to_vec(&Cursor(list, position)).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(cursor))
}

pub(super) fn read<K: DeserializeOwned>(list: &str, text: &str) -> Result<K, ApiError> {
    decode::<K>(text)
        .filter(|Cursor(of, _)| of == list)
        .map(|Cursor(_, position)| position)
        .ok_or_else(refused)
}

fn decode<K: DeserializeOwned>(text: &str) -> Option<Cursor<K>> {
    let text = Some(text).filter(|text| text.len() <= MAX_CURSOR_CHARACTERS)?;
    serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

/// Returns the error of a cursor that no page of the list has returned.
pub fn refused() -> ApiError {
    ApiError::invalid("cursor", "must be the `nextCursor` of this list")
}
