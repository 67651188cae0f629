//! Checks of products, and their repairs.

use tributary_functions::{
    audit::{AuditedItem, CheckResults, FindingKind, Obstacle, ReferencedItem, RepairResult},
    prelude::*,
};

use super::{WebStoreChecks, WebStoreKinds};
use crate::{
    model::{Label, LabelCopy, LabelItem, LabelKind, Product, ProductItem},
    moves,
};

impl WebStoreChecks {
    /// Compares the names on a product with its labels. A name differs when its text or its version
    /// does.
    pub(super) async fn check_product(
        &self,
        parsed: ProductItem,
        item: &AuditedItem,
        fresh: bool,
    ) -> CheckResults {
        let mut suspects = Vec::new();
        let ProductItem::Product(product) = parsed else { return Ok(suspects) };
        if let Some(departure) = &product.departure {
            let words = ("no departure", format!("a departure to {}", departure.to));
            suspects.push(item.suspect(WebStoreKinds::MOVE_PENDING, words, &item.etag));
        }
        let mut missing = Vec::new();
        let mut differing = Vec::new();
        for (kind, copy) in product.labels() {
            let label = format!("{} {}", kind.as_str(), copy.id);
            match self.label(kind, &copy.id, fresh).await? {
                ReferencedItem::Missing => missing.push(label),
                ReferencedItem::Live(found) if found != copy => {
                    let version = |version| format!("{label} in version {version}");
                    differing.push((version(found.version), version(copy.version)));
                }
                ReferencedItem::Live(_) | ReferencedItem::Unreadable => {}
            }
        }
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let words = (missing.clone(), "none");
            suspects.push(item.suspect(WebStoreKinds::LABEL_MISSING, words, missing));
        }
        if !differing.is_empty() {
            let (expected, found): (Vec<_>, Vec<_>) = differing.into_iter().unzip();
            let words = (expected.join(", "), found.join(", "));
            suspects.push(item.suspect(FindingKind::NAME_DIFFERS, words, &item.etag));
        }
        Ok(suspects)
    }

    async fn label(
        &self,
        kind: LabelKind,
        id: &str,
        fresh: bool,
    ) -> Result<ReferencedItem<LabelCopy>, StoreError> {
        let slot = (&self.store.labels, kind.as_str(), id);
        let copy = |item: LabelItem| Label::try_from(item).ok().map(|label| label.copy());
        self.labels.find(&(kind, id.to_owned()), fresh, slot, copy).await
    }

    pub(super) async fn write_names(&self, category_id: &str, id: &str) -> RepairResult {
        let store = self.store.latest_committed();
        let stored = store.products.item::<Product>(category_id, id).await?;
        let stored = stored.ok_or(Obstacle::Race)?;
        let mut product = stored.item.clone();
        for (kind, copy) in stored.item.labels() {
            let found = store.labels.slot::<Label>(kind, &copy.id).await?;
            let label = store.restore_label(kind, &copy, found).await?;
            product = product.with_label(&label).unwrap_or(product);
        }
        if product.version > stored.item.version {
            store.products.save(product, Some(&stored.etag)).await?;
        }
        Ok("wrote the names of its labels")
    }

    pub(super) async fn end_move(&self, category_id: &str, id: &str) -> RepairResult {
        let store = self.store.latest_committed();
        let stored = store.products.item::<Product>(category_id, id).await?;
        let Product { category_id, id, departure, .. } = stored.ok_or(Obstacle::Race)?.item;
        moves::end(&store, &category_id, &id, &departure.ok_or(Obstacle::Race)?).await?;
        Ok("ended the move")
    }
}
