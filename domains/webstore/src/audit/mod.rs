//! The audit of the WebStore: it checks the names on products, the labels that they refer to, moves
//! that do not end, the count of a customer's orders, and the leaderboard.
//!
//! [`tributary_functions::audit`] has the rest: when a suspicion is a finding, and how a repair is checked.

mod customers;
mod products;

use tributary_functions::{
    audit::{
        AuditedItem, CheckResults, Checks, CopiesChecks, FindingKind, Obstacle, ReferencedItems,
        RepairResult, Suspect, async_trait,
    },
    prelude::*,
};

use super::{
    WebStore,
    model::{LabelCopy, LabelItem, LabelKind},
    projections::RankedCustomers,
};

/// The most labels that are remembered between two checks; some 500 bytes each.
const MAX_REMEMBERED_LABELS: usize = 10_000;

pub struct WebStoreKinds;

impl WebStoreKinds {
    /// A product with a label that does not exist.
    pub const LABEL_MISSING: FindingKind = FindingKind::new("label-missing");
    /// A product that waits for its move to end.
    pub const MOVE_PENDING: FindingKind = FindingKind::new("move-pending");
}

pub fn audit(store: &WebStore) -> Audit {
    let store = store.clone();
    let checks = move || WebStoreChecks {
        leaderboard: CopiesChecks::new(&store.customers, &store.leaderboard),
        store: store.clone(),
        labels: ReferencedItems::new(MAX_REMEMBERED_LABELS),
    };
    Audit::new("AuditWebStore", "0 30 3 * * 0", checks)
}

struct WebStoreChecks {
    store: WebStore,
    leaderboard: CopiesChecks<RankedCustomers>,
    labels: ReferencedItems<(LabelKind, String), LabelCopy>,
}

#[async_trait]
impl Checks for WebStoreChecks {
    fn containers(&self) -> Vec<(&Container, &'static str)> {
        vec![
            (&self.store.labels, "type"),
            (&self.store.products, "categoryId"),
            (&self.store.customers, "customerId"),
            (&self.store.leaderboard, "type"),
        ]
    }

    async fn check_item(&self, item: &AuditedItem, fresh: bool) -> CheckResults {
        let Self { store, leaderboard, .. } = self;
        match item.container {
            it if it == store.labels.id() => {
                Ok(item.parse::<LabelItem>().err().unwrap_or_default())
            }
            it if it == store.customers.id() => {
                item.check(|it| self.check_customer_item(it, item)).await
            }
            it if it == store.leaderboard.id() => leaderboard.check_copy(item).await,
            _ => item.check(|it| self.check_product(it, item, fresh)).await,
        }
    }

    async fn repair(&self, suspect: &Suspect) -> RepairResult {
        let partition_key = suspect.finding.partition_key.as_str();
        let id = suspect.finding.id.as_str();
        match suspect.finding.kind {
            FindingKind::NAME_DIFFERS | WebStoreKinds::LABEL_MISSING => {
                self.write_names(partition_key, id).await
            }
            WebStoreKinds::MOVE_PENDING => self.end_move(partition_key, id).await,
            FindingKind::COUNT_DIFFERS => self.write_count(id).await,
            kind if kind.concerns_copy() => self.leaderboard.repair(suspect).await,
            FindingKind::ORPHAN => {
                Err(Obstacle::NeedsOperator("restore the customer, or delete the order"))
            }
            _ => Err(Obstacle::NeedsOperator("its type is unknown: restore or delete it")),
        }
    }
}
