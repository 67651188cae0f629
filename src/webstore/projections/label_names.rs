//! Labels that are renamed or deleted.

use tributary_functions::{
    cosmos::{Container, StoreError, Stored},
    projection::{Background, Effect, Projection, fan_out::FanOutProjection},
};

use super::names_in_products::NamesInProducts;
use crate::{
    Catalog,
    model::{DeletedLabel, LabelCopy, LabelItem},
};

/// Brings new names to the products (`names_in_products.rs`), and brings a deleted label back that a
/// product uses.
///
/// Both kinds of labels share one trigger, since a trigger costs request units at rest
/// (`docs/costs.md`), and a long rename holds up no other.
///
/// # Why every label of a product exists
///
/// A label and the products that use it are in different partitions, so no transaction sees both.
/// `DELETE` counts the products, and writes a tombstone under the ETag of the label. A product may be
/// written between the two, or by a command that has read the label before.
///
/// 1. Whoever applies the change of a tombstone then looks for products that use the label, and
///    brings the label back where there is one.
/// 2. Whoever applies the change of a product ([`super::ProductsIntegrity`]) then reads its labels,
///    and brings back those that are missing, if the product, as it is now, uses them.
/// 3. Both read the latest committed state after their own item was written. Of a tombstone and a
///    product that have not seen each other, each would have read before the other wrote, and
///    written before it read.
/// 4. A label that comes back replaces its tombstone under its ETag, in the next version. So it
///    never undoes a later creation, and copies of the label go on counting.
///
/// So the deletion loses, as if the product had been counted. It ends: a label comes back only while
/// a product uses it, and is then deleted only by another `DELETE`.
pub struct LabelNames {
    names: FanOutProjection<NamesInProducts>,
    catalog: Catalog,
}

impl LabelNames {
    pub fn new(catalog: &Catalog, background: &Background) -> Self {
        let names = FanOutProjection::new(NamesInProducts(catalog.clone()), background);
        Self { names, catalog: catalog.latest_committed() }
    }
}

impl Projection for LabelNames {
    const FUNCTION: &'static str = "LabelNames";
    const PARTITION_KEY: &'static str = "type";
    const CONCURRENCY: usize = <FanOutProjection<NamesInProducts> as Projection>::CONCURRENCY;
    type Change = LabelItem;

    fn container(&self) -> &Container {
        &self.catalog.labels
    }

    fn source(change: &LabelItem) -> Option<(String, u64)> {
        <FanOutProjection<NamesInProducts> as Projection>::source(change)
    }

    async fn apply(&self, change: &LabelItem) -> Result<Effect, StoreError> {
        match change {
            // guard: catalog: a tombstone in use is found by its own change =>
            //     `Ok(Effect::Unchanged)`
            LabelItem::Deleted(tombstone) => self.bring_back(tombstone).await,
            LabelItem::Live(_) | LabelItem::Renaming(_) => self.names.apply(change).await,
        }
    }
}

impl LabelNames {
    async fn bring_back(&self, delivered: &DeletedLabel) -> Result<Effect, StoreError> {
        let DeletedLabel { kind, id, name, version, .. } = delivered;
        if self.catalog.uses(*kind, id, 0).await? == Some(0) {
            return Ok(Effect::Unchanged);
        }
        match self.catalog.label(*kind, id).await? {
            Some(Stored { item: LabelItem::Live(_), .. }) => Ok(Effect::Older),
            found => {
                let copy = LabelCopy { id: id.clone(), name: name.clone(), version: *version };
                self.catalog.bring_back(*kind, &copy, found).await?;
                Ok(Effect::Applied)
            }
        }
    }
}
