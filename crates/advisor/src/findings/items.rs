//! Checks of the keys of single items.

use crate::{
    checks::{INVALID_KEY, LIMITS_SOURCE, LONG_KEY, MISSING_KEY, NULL_KEY},
    report::{CandidateEstimates, Finding, Severity},
    words::counted,
};

pub(super) fn keys_of_items(estimates: &CandidateEstimates) -> Vec<Finding> {
    let keys = &estimates.keys;
    let of = crate::words::float(estimates.items.max(1));
    let finding = |code, n: u64, source, what: &str| {
        (n > 0).then(|| Finding {
            code,
            severity: Severity::Warning,
            threshold: 0.0,
            measured: crate::words::float(n) / of,
            source,
            sentence: format!(
                "{} of {} {what}",
                counted(crate::words::float(n), "item"),
                estimates.items
            ),
        })
    };
    let is_computed =
        estimates.strategy.levels().iter().any(|level| {
            !matches!(level.as_slice(), [cosmos_model::partitioning::KeyPart::Value(_)])
        });
    let together = |what: &str| {
        if is_computed {
            format!("{what}: the key cannot be made.")
        } else {
            format!("{what}: all such items share one logical partition.")
        }
    };
    let properties = "guide, Partition Key Properties";
    [
        finding(MISSING_KEY, keys.missing, properties, &together("lack a property of the key")),
        finding(NULL_KEY, keys.null, properties, &together("have null in a property of the key")),
        finding(
            INVALID_KEY,
            keys.not_scalar + keys.not_a_time,
            "service, https://learn.microsoft.com/azure/cosmos-db/partitioning-overview",
            "have an object or an array in a property of the key, or no time where its period is the key.",
        ),
        finding(
            LONG_KEY,
            keys.too_long,
            LIMITS_SOURCE,
            "have a key of more than 2,048 bytes, which the service refuses.",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
