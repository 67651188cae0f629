//! The names of labels on the products that repeat them, and deleted labels that a product uses.

use tributary_functions::{prelude::*, projection::fan_out::older_copies};

use crate::{
    WebStore,
    model::{DeletedLabel, Label, LabelCopy, LabelItem, LabelKind, ProductItem},
    state::LabelSlot,
};

/// The projection that brings new names to the products ([`NamesInProducts`]), and restores a
/// deleted label that a product uses.
///
/// Both kinds of labels share one trigger, since a trigger costs request units at rest
/// (`docs/costs.md`), and a long rename does not delay another.
///
/// # Why every label of a product exists
///
/// A label and the products that use it are in different partitions, so no transaction sees both.
/// `DELETE` counts the products, and then writes a tombstone under the ETag of the label. A product
/// may be written between the two, or by a command that has read the label before.
///
/// 1. The projection of labels applies the change of a tombstone: it looks for products that use the
///    label, and restores the label if there is one.
/// 2. The projection of products ([`super::ProductsIntegrity`]) applies the change of a product: it
///    reads the product's labels, and restores the missing ones that the product still uses.
/// 3. Both projections read the latest committed state after their own item was written. If neither
///    saw the other item, each would have read before the other item was written, and written its
///    own item before it read. That is a contradiction.
/// 4. A restored label replaces its tombstone under its ETag, in the next version. So it never undoes
///    a later creation, and versions of the copies go on rising.
///
/// So the deletion loses, as if the product had been counted. It ends: a label is restored only while
/// a product uses it, and only another `DELETE` deletes it then.
pub type LabelNames = FanOutProjection<NamesInProducts>;

/// Brings a new name to the products: that of a category to those of one partition, that of a tag to
/// products in all partitions. Each of these names has a version of its own in the product.
pub struct NamesInProducts(
    /// Reads the latest committed state.
    pub WebStore,
);

impl FanOut for NamesInProducts {
    const FUNCTION: &'static str = "LabelNames";
    type Change = LabelItem;
    type Source = Label;
    type Target = ProductItem;

    fn scope(label: &Label) -> Scope<'_> {
        match label.kind {
            LabelKind::Category => Scope::Partition(&label.public.id),
            LabelKind::Tag => Scope::Container,
        }
    }

    fn outdated(label: &Label) -> Result<Query, StoreError> {
        let id = &label.public.id;
        let version = label.version;
        match label.kind {
            LabelKind::Category => older_copies(("categoryId", "categoryVersion"), id, version),
            LabelKind::Tag => {
                let text = "SELECT VALUE c FROM c JOIN t IN c.tags \
                            WHERE t.id = @id AND t.version < @version";
                let query = Query::from(text).with_parameter("@id", id)?;
                Ok(query.with_parameter("@version", version)?)
            }
        }
    }

    fn update(target: &ProductItem, label: &Label) -> Option<Update<ProductItem>> {
        let ProductItem::Product(product) = target else { return None };
        Update::from_item(product.with_newer_label(label)?.into())
    }

    async fn apply_other(&self, change: &LabelItem) -> Result<Option<Effect>, StoreError> {
        let LabelItem::Deleted(deleted) = change else { return Ok(None) };
        let Self(store) = self;
        let DeletedLabel { kind, id, name, version, .. } = deleted.clone();
        if store.count_uses(kind, &id, 0).await? == Some(0) {
            return Ok(Some(Effect::Unchanged));
        }
        let found = store.labels.slot::<Label>(kind, &id).await?;
        if matches!(found, LabelSlot::Live(_)) {
            return Ok(Some(Effect::Older));
        }
        store.restore_label(kind, &LabelCopy { id, name, version }, found).await?;
        Ok(Some(Effect::Applied))
    }
}
