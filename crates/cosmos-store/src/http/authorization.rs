//! The signature of a request with the account key.
//!
//! The format: <https://learn.microsoft.com/rest/api/cosmos-db/access-control-on-cosmosdb-resources>.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use hmac::{Hmac, Mac};
use http::Request;
use sha2::Sha256;

use super::{
    address::is_rid,
    call::{decoded, header, path},
};
use crate::{Refusal, Result};

/// Checks that the request is signed with a key. The age of the date is not checked, so that a machine that slept can
/// go on.
pub(super) fn check(request: &Request<Bytes>, key: &str) -> Result<()> {
    let refused = |message: &str| Err(Refusal::new(401, message));
    let Some(token) = header(request, "authorization") else {
        return refused(
            "Required Header authorization is missing. Ensure a valid Authorization token is passed.",
        );
    };
    let token = decoded(token);
    let part = |name: &str| {
        let mut parts = token.split('&').filter_map(|part| part.split_once('='));
        parts.find_map(|(key, value)| (key == name).then_some(value))
    };
    if part("type") != Some("master") {
        return refused(
            "This store takes the account key, and neither tokens of Microsoft Entra ID nor resource tokens. Start it \
             with --auth none to take any token.",
        );
    }
    let Some(date) = header(request, "x-ms-date").or_else(|| header(request, "date")) else {
        return refused(
            "The request has no x-ms-date or date header, which the Authorization token covers.",
        );
    };
    let (Ok(key), Ok(signature)) =
        (BASE64_STANDARD.decode(key), BASE64_STANDARD.decode(part("sig").unwrap_or_default()))
    else {
        return refused("The Authorization token, or the key of this store, is not in base64.");
    };

    // Some SDKs sign names as they are, others sign the encoded names of the path. A link by `_rid` is signed as that
    // of the resource alone, in lower case.
    let (resource, link) = resource(path(request.uri()));
    // The Python SDK signs the deletion of a logical partition as one of the container.
    let kinds = [resource, if resource == "partitionkey" { "colls" } else { resource }];
    let is_signed =
        [Some(link.to_owned()), Some(decoded(link).into_owned()), by_rid(resource, link)]
            .into_iter()
            .flatten()
            .flat_map(|link| kinds.map(|kind| (kind, link.clone())))
            .any(|(kind, link)| {
                let payload = payload(request.method().as_str(), kind, &link, date);
                Hmac::<Sha256>::new_from_slice(&key)
                    .is_ok_and(|mac| mac.chain_update(payload).verify_slice(&signature).is_ok())
            });
    if is_signed {
        Ok(())
    } else {
        refused(
            "The input authorization token can't serve the request. The wrong key is being used or the expected \
             payload is not built as per the protocol. This store takes the well-known key of the Cosmos DB emulators, \
             unless another one is set.",
        )
    }
}

/// Returns the type and the link that are signed. A path with an even number of segments names a resource, one with an
/// odd number the feed of its last segment below a resource.
fn resource(path: &str) -> (&str, &str) {
    let path = path.trim_matches('/');
    if let Some(container) = path.strip_suffix("/operations/partitionkeydelete") {
        return ("partitionkey", container);
    }
    let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
    if path.split('/').count() % 2 == 1 {
        return (last, parent);
    }
    (parent.rsplit('/').next().unwrap_or_default(), path)
}

fn by_rid(resource: &str, link: &str) -> Option<String> {
    let link = decoded(link);
    let ids: Vec<&str> = link.split('/').skip(1).step_by(2).collect();
    // The `_rid` of an offer has a length of its own.
    let are_rids = resource == "offers" || ids.iter().all(|id| is_rid(id));
    let last = ids.last().filter(|_| are_rids)?;
    Some(last.to_lowercase())
}

/// Returns the `Authorization` header of a request. The path is as it is sent; the date is that of `x-ms-date`.
pub fn authorization(method: &str, path: &str, date: &str, key: &str) -> String {
    let (resource, link) = resource(path.split('?').next().unwrap_or_default());
    let payload = payload(method, resource, &decoded(link), date);
    let key = BASE64_STANDARD.decode(key).unwrap_or_default();
    // A key of any length is right for HMAC.
    let mac = Hmac::<Sha256>::new_from_slice(&key).map(|mac| mac.chain_update(payload));
    let signature = mac.map(|mac| mac.finalize().into_bytes());
    let signature = signature.map(|it| BASE64_STANDARD.encode(it)).unwrap_or_default();
    let token = format!("type=master&ver=1.0&sig={signature}");
    percent_encoding::utf8_percent_encode(&token, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn payload(method: &str, resource: &str, link: &str, date: &str) -> String {
    let (method, date) = (method.to_ascii_lowercase(), date.to_ascii_lowercase());
    format!("{method}\n{resource}\n{link}\n{date}\n\n")
}
