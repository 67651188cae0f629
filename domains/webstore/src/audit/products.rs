//! Checks of products, and their repairs.

use tributary_functions::{
    audit::{AuditedItem, FindingKind, Obstacle, ReferencedItem, RepairResult, Suspect},
    cosmos::StoreError,
};

use super::{WebStoreChecks, WebStoreKinds};
use crate::{
    model::{CategoryId, Label, LabelCopy, LabelItem, LabelKind, Product, ProductId},
    moves,
};

impl WebStoreChecks {
    /// Compares the names on a product with its labels. A name differs when its text or its version
    /// does.
    pub(super) async fn check_product(
        &self,
        product: &Product,
        item: &AuditedItem,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let mut suspects = Vec::new();
        if let Some(departure) = &product.departure {
            let words = ("no departure", format!("a departure to {}", departure.to));
            suspects.push(item.suspect(WebStoreKinds::MOVE_PENDING, words, &item.etag));
        }
        let mut missing = Vec::new();
        let mut expected = Vec::new();
        let mut found = Vec::new();
        for (kind, copy) in product.labels() {
            let version = |version| format!("{} {} in version {version}", kind.as_str(), copy.id);
            match self.label(kind, &copy.id, fresh).await? {
                ReferencedItem::Missing => missing.push(format!("{} {}", kind.as_str(), copy.id)),
                ReferencedItem::Live(label) if label != copy => {
                    expected.push(version(label.version));
                    found.push(version(copy.version));
                }
                ReferencedItem::Live(_) | ReferencedItem::Unreadable => {}
            }
        }
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let words = (missing.clone(), "none");
            suspects.push(item.suspect(WebStoreKinds::LABEL_MISSING, words, missing));
        }
        if !expected.is_empty() {
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

    /// Restores missing labels, and writes the names of all labels of a product.
    pub(super) async fn write_names(&self, category_id: &str, id: &str) -> RepairResult {
        let store = self.store.latest_committed();
        let (category_id, id) = parse(category_id, id)?;
        let stored = store.product(&category_id, &id).await?.ok_or(Obstacle::Race)?;
        let mut product = stored.item.clone();
        for (kind, copy) in stored.item.labels() {
            let found = store.label(kind, &copy.id).await?;
            let label = store.restore_label(kind, &copy, found).await?;
            product = product.with_label(&label).unwrap_or(product);
        }
        if product.version > stored.item.version {
            store.write(product, Some(&stored.etag)).await?;
        }
        Ok("wrote the names of its labels")
    }

    pub(super) async fn end_move(&self, category_id: &str, id: &str) -> RepairResult {
        let store = self.store.latest_committed();
        let (category_id, id) = parse(category_id, id)?;
        let product = store.product(&category_id, &id).await?.ok_or(Obstacle::Race)?;
        let departure = product.item.departure.ok_or(Obstacle::Race)?;
        moves::end(&store, &category_id, &id, &departure).await?;
        Ok("ended the move")
    }
}

fn parse(category_id: &str, id: &str) -> Result<(CategoryId, ProductId), Obstacle> {
    let category_id = CategoryId::parse(category_id.to_owned()).map_err(|_| Obstacle::Race)?;
    let id = ProductId::parse(id.to_owned()).map_err(|_| Obstacle::Race)?;
    Ok((category_id, id))
}
