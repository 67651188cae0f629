//! The signature of a request with the account key.
//!
//! The key is no secret. But a client with a wrong key or without one should fail here rather than in
//! Azure. Source of the format:
//! <https://learn.microsoft.com/rest/api/cosmos-db/access-control-on-cosmosdb-resources>.

use axum::http::{HeaderMap, Method, header};
use azure_core::credentials::Secret;
use azure_core::hmac::hmac_sha256;
use percent_encoding::percent_decode_str;

use super::{WELL_KNOWN_KEY, gateway};

/// Checks that the request is signed with [`WELL_KNOWN_KEY`]. It does not check the age of the date, so
/// a laptop that slept can continue.
pub(super) fn check(method: &Method, path: &str, headers: &HeaderMap) -> Result<(), &'static str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let token = text(header::AUTHORIZATION.as_str()).ok_or(
        "Required Header authorization is missing. Ensure a valid Authorization token is passed.",
    )?;
    let token = percent_decode_str(token).decode_utf8_lossy();
    let part = |name: &str| {
        token
            .split('&')
            .filter_map(|part| part.split_once('='))
            .find_map(|(key, value)| (key == name).then_some(value))
    };
    if part("type") != Some("master") {
        return Err("The local endpoint takes the emulator's account key only, no tokens of \
             Microsoft Entra ID and no resource tokens.");
    }
    let date = text("x-ms-date").or_else(|| text("date")).ok_or(
        "The request has no x-ms-date or date header, which the Authorization token covers.",
    )?;

    // Some SDKs sign names as they are, others sign the encoded names of the path.
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let is_signed = [&*decoded, path].into_iter().any(|path| {
        let (resource_type, link) = resource(path);
        [Some(link.to_owned()), by_rid(link)].into_iter().flatten().any(|link| {
            let payload = format!(
                "{}\n{resource_type}\n{link}\n{}\n\n",
                method.as_str().to_ascii_lowercase(),
                date.to_ascii_lowercase()
            );
            hmac_sha256(&payload, &Secret::new(WELL_KNOWN_KEY))
                .is_ok_and(|signature| part("sig") == Some(&signature))
        })
    });
    if is_signed {
        Ok(())
    } else {
        Err("The input authorization token can't serve the request. The wrong key is being used \
             or the expected payload is not built as per the protocol. The local endpoint takes \
             the well-known key of the Cosmos DB emulators.")
    }
}

/// Returns the type and the link that are signed. A path with an even number of segments names a
/// resource, one with an odd number the feed of its last segment below a resource.
fn resource(path: &str) -> (&str, &str) {
    let path = path.trim_matches('/');
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    if path.split('/').count() % 2 == 1 {
        return (last, parent);
    }
    let resource_type = parent.rsplit('/').next().unwrap_or_default();
    (resource_type, path)
}

/// Returns the signed part of a link by `_rid`: that of the resource alone, in lower case.
fn by_rid(link: &str) -> Option<String> {
    let ids: Vec<&str> = link.split('/').skip(1).step_by(2).collect();
    let last = ids.last().filter(|_| ids.iter().all(|id| gateway::is_rid(id)))?;
    Some(last.to_lowercase())
}
