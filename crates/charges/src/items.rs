//! What operations on single items cost, alone and in a transaction.

use serde_json::Value;

use crate::{
    policy::IndexingPolicy,
    rates::{self, PATCH_OPERATION},
    terms::{Terms, charge_of},
};

/// A version of an item.
#[derive(Debug)]
pub struct Version {
    /// The item, without what the store adds.
    pub item: Value,
    /// Its size as JSON.
    pub bytes: usize,
}

impl Version {
    fn terms(&self, policy: &IndexingPolicy) -> Terms {
        Terms::of(&self.item, policy)
    }
}

/// The surroundings of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// A request of its own.
    Request,
    /// A transactional batch or a stored procedure.
    Transaction,
}

/// Returns the request units of a new item.
pub fn create(new: &Version, policy: &IndexingPolicy) -> f64 {
    rates::write(new.bytes) + charge_of(&new.item, policy)
}

/// Returns the request units of a new version: the terms that differ are taken out and put in.
///
/// Alone it also pays for the removal of the old version, as published. In a transaction it does
/// not: the published figures of the blog's stored procedures leave about six request units for
/// the replacement in them, not eleven.
pub fn replace(old: &Version, new: &Version, policy: &IndexingPolicy, within: Within) -> f64 {
    let before = old.terms(policy);
    let after = new.terms(policy);
    let removal = match within {
        Within::Request => rates::write(old.bytes),
        Within::Transaction => 0.0,
    };
    removal
        + rates::write(new.bytes)
        + before.charge_without(&after)
        + after.charge_without(&before)
}

/// Returns the request units of a partial update: a replacement, and a little for each operation.
pub fn patch(old: &Version, new: &Version, n_operations: u32, policy: &IndexingPolicy) -> f64 {
    replace(old, new, policy, Within::Request) + f64::from(n_operations) * PATCH_OPERATION
}

/// Returns the request units of the end of an item and of its terms.
pub fn delete(old: &Version, policy: &IndexingPolicy) -> f64 {
    create(old, policy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{IndexingPolicy, Version, Within, create, delete, patch, replace};

    /// The examples of the published rules. Theirs leave out `_ts`, which is four terms that
    /// differ in each replacement.
    #[test]
    fn the_published_examples_come_out_within_a_tenth() {
        // With `_ts` ten terms in the index.
        let version = |a: u32| Version {
            item: json!({ "id": "1", "pk": "1", "a": a, "b": "b" }),
            bytes: 1_024,
        };
        let old = version(1);
        let new = version(2);
        let policy = IndexingPolicy::default();
        for (what, published, charge) in [
            ("create", 7.0, create(&new, &policy)),
            ("replace", 10.8, replace(&old, &new, &policy, Within::Request)),
            ("patch", 11.6, patch(&old, &new, 2, &policy)),
            ("delete", 7.0, delete(&old, &policy)),
        ] {
            assert!((charge / published - 1.0).abs() < 0.1, "{what}: {charge} for {published}");
        }
    }

    #[test]
    fn a_replacement_costs_by_the_size_of_both_versions_but_in_a_transaction() {
        let version = |kilobytes: usize| Version { item: json!({}), bytes: 1_024 * kilobytes };
        let policy = IndexingPolicy::default();
        let charge = |within| replace(&version(16), &version(1), &policy, within);
        let time = 0.8;
        assert!((charge(Within::Request) - 9.52 - 4.95 - time).abs() < 1e-9);
        assert!((charge(Within::Transaction) - 4.95 - time).abs() < 1e-9);
    }
}
