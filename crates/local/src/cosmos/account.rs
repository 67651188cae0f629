//! The account's properties, as clients see them.

use azure_core::Bytes;
use serde_json::Value;

use super::store::{REGION, Response};

/// The account of the emulator without the regions that stand for replicas.
pub(super) fn shown(mut response: Response) -> Response {
    let Ok(Value::Object(mut account)) = serde_json::from_slice(&response.body) else {
        return response;
    };
    for locations in ["writableLocations", "readableLocations"] {
        if let Some(Value::Array(locations)) = account.get_mut(locations) {
            locations.retain(|location| location["name"] == REGION);
        }
    }
    response.body = Bytes::from(Value::Object(account).to_string());
    response
}
