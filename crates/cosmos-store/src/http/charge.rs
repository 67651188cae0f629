//! The charges of requests, by the model of `cosmos_model::charges`.

use cosmos_model::charges::{
    items::{self, ItemVersion, WriteScope},
    policy::IndexingPolicy,
    rates,
};

use super::Kind;
use crate::engine::{Done, Item};

pub(super) use cosmos_model::charges::rates::LOOKUP_RU;

/// Returns the charge of an operation on an item that succeeded.
pub(super) fn operation(
    kind: Kind,
    done: &Done,
    n_patches: u32,
    scope: WriteScope,
    policy: &IndexingPolicy,
) -> f64 {
    let version = |item: &Item| {
        serde_json::from_slice(&item.body)
            .ok()
            .map(|json| ItemVersion { item: json, bytes: item.body.len() })
    };
    let old = done.before.as_ref().and_then(version);
    let new = done.item.as_ref().and_then(|item| {
        let mut version = version(item)?;
        if kind != Kind::Patch {
            version.bytes = written_bytes(&item.body);
        }
        Some(version)
    });
    match (kind, &old, &new) {
        (Kind::Read, _, _) => {
            let item = done.item.as_ref();
            item.map_or(LOOKUP_RU, |item| rates::read(item.body.len()))
        }
        (Kind::Patch, Some(old), Some(new)) => items::patch(old, new, n_patches, policy),
        (_, Some(old), Some(new)) => items::replace(old, new, policy, scope),
        (_, None, Some(new)) => items::create(new, policy),
        (_, Some(old), None) => items::delete(old, policy),
        (_, None, None) => LOOKUP_RU,
    }
}

/// Returns the size of an item without the system's properties, which the engine writes at its end.
fn written_bytes(body: &[u8]) -> usize {
    const BEGIN: &[u8] = b",\"_rid\":\"";
    let begin = body.windows(BEGIN.len()).rposition(|window| window == BEGIN);
    begin.map_or(body.len(), |begin| begin.saturating_add(1))
}
