//! What the audit of the WebStore checks: the names on products, the categories and tags that they
//! refer to, and moves that do not end.
//!
//! [`crate::audit`] has the rest: when a suspicion is a finding, and how a repair is checked.

mod products;

use quick_cache::sync::Cache;

use self::products::KnownLabel;
use super::{
    Catalog,
    model::{LabelItem, LabelKind, ProductItem},
};
use crate::{
    audit::{Audit, AuditedItem, Checks, Kind, Obstacle, RepairResult, Suspect},
    cosmos::{Container, StoreError},
};

/// How many categories and tags are remembered between two checks; some 500 bytes each.
const REMEMBERED: usize = 10_000;

/// The kinds of divergence that only the WebStore has.
pub struct Kinds;

impl Kinds {
    /// A product whose category or one of whose tags does not exist.
    pub const LABEL_MISSING: Kind = Kind::new("label-missing");
    /// A product that waits for its move to end.
    pub const MOVE_PENDING: Kind = Kind::new("move-pending");
}

/// Returns the audit of the WebStore.
pub fn audit(catalog: &Catalog) -> Audit {
    let catalog = catalog.clone();
    Audit::new("AuditWebStore", move || StoreChecks::new(catalog.clone()))
}

/// Checks items. What it remembers of categories and tags may be old: that can only raise a
/// suspicion, and a suspect is checked again with `fresh` reads.
struct StoreChecks {
    catalog: Catalog,
    labels: Cache<(LabelKind, String), KnownLabel>,
}

impl StoreChecks {
    fn new(catalog: Catalog) -> Self {
        Self { catalog, labels: Cache::new(REMEMBERED) }
    }
}

impl Checks for StoreChecks {
    fn containers(&self) -> Vec<(&Container, &'static str)> {
        vec![(&self.catalog.labels, "type"), (&self.catalog.products, "categoryId")]
    }

    async fn check_item(
        &self,
        item: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        if item.container == self.catalog.labels.id() {
            return Ok(item.parse::<LabelItem>().err().unwrap_or_default());
        }
        match item.parse() {
            Ok(ProductItem::Product(product)) => self.check_product(&product, item, fresh).await,
            Ok(ProductItem::DeletedProduct(_)) => Ok(Vec::new()),
            Err(unreadable) => Ok(unreadable),
        }
    }

    async fn repair(&self, suspect: &Suspect) -> RepairResult {
        let place = (suspect.finding.partition_key.as_str(), suspect.finding.id.as_str());
        match suspect.finding.kind {
            Kind::NAME_DIFFERS | Kinds::LABEL_MISSING => self.write_names(place).await,
            Kinds::MOVE_PENDING => self.end_move(place).await,
            _ => Err(Obstacle::ForAPerson("no program knows what it was: restore or delete it")),
        }
    }
}
