//! The request units of operations on single items, alone and in a transaction.

use serde_json::Value;

use crate::charges::{
    policy::IndexingPolicy,
    rates::{self, PATCH_OPERATION_RU},
    terms::IndexTerms,
};

/// A version of an item.
#[derive(Debug)]
pub struct ItemVersion {
    /// The item, without the system's properties.
    pub item: Value,
    /// Its size as JSON.
    pub bytes: usize,
}

/// The surroundings of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteScope {
    /// A request of its own.
    Request,
    /// A transactional batch or a stored procedure.
    Transaction,
}

/// Returns the request units of a new item.
pub fn create(new: &ItemVersion, policy: &IndexingPolicy) -> f64 {
    let terms = IndexTerms::new(&new.item, policy);
    rates::write(new.bytes) + terms.charge_without(&IndexTerms::default())
}

/// Returns the request units of a new version: different terms are taken out and put in.
///
/// A request of its own also pays for the removal of the old version, as published. A transaction does
/// not: the published figures of the blog's stored procedures leave about six request units for
/// the replacement in them, not eleven.
pub fn replace(
    old: &ItemVersion,
    new: &ItemVersion,
    policy: &IndexingPolicy,
    within: WriteScope,
) -> f64 {
    let before = IndexTerms::new(&old.item, policy);
    let after = IndexTerms::new(&new.item, policy);
    let removal = match within {
        WriteScope::Request => rates::write(old.bytes),
        WriteScope::Transaction => 0.0,
    };
    removal
        + rates::write(new.bytes)
        + before.charge_without(&after)
        + after.charge_without(&before)
}

/// Returns the request units of a partial update: those of a replacement, and a little for each operation.
pub fn patch(
    old: &ItemVersion,
    new: &ItemVersion,
    n_operations: u32,
    policy: &IndexingPolicy,
) -> f64 {
    replace(old, new, policy, WriteScope::Request) + f64::from(n_operations) * PATCH_OPERATION_RU
}

/// Returns the request units of a delete: those of the item and of its terms.
pub fn delete(old: &ItemVersion, policy: &IndexingPolicy) -> f64 {
    create(old, policy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{IndexingPolicy, ItemVersion, WriteScope, create, delete, patch, replace};

    /// The examples of the published rules. They leave out `_ts`, which has four terms that differ in each
    /// replacement.
    #[test]
    fn the_published_examples_come_out_within_a_tenth() {
        // With `_ts` ten terms in the index.
        let version = |a: u32| ItemVersion {
            item: json!({ "id": "1", "pk": "1", "a": a, "b": "b" }),
            bytes: 1_024,
        };
        let old = version(1);
        let new = version(2);
        let policy = IndexingPolicy::default();
        for (what, published, charge) in [
            ("create", 7.0, create(&new, &policy)),
            ("replace", 10.8, replace(&old, &new, &policy, WriteScope::Request)),
            ("patch", 11.6, patch(&old, &new, 2, &policy)),
            ("delete", 7.0, delete(&old, &policy)),
        ] {
            assert!((charge / published - 1.0).abs() < 0.1, "{what}: {charge} for {published}");
        }
    }

    #[test]
    fn a_replacement_costs_by_the_size_of_both_versions_but_in_a_transaction() {
        let version = |kilobytes: usize| ItemVersion { item: json!({}), bytes: 1_024 * kilobytes };
        let policy = IndexingPolicy::default();
        let charge = |within| replace(&version(16), &version(1), &policy, within);
        let time = 0.8;
        assert!((charge(WriteScope::Request) - 9.52 - 4.95 - time).abs() < 1e-9);
        assert!((charge(WriteScope::Transaction) - 4.95 - time).abs() < 1e-9);
    }
}
