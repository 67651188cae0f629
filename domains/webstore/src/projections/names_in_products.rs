//! The name of a label on the products that relocate it.

use tributary_functions::{
    cosmos::{Query, Scope, StoreError},
    projection::fan_out::{FanOut, Update, older_copies},
};

use crate::model::{Label, LabelItem, LabelKind, ProductItem};

/// Brings a new name to the products: that of a category to those of one partition, that of a tag to
/// products in all partitions. Each of these names has a version of its own in the product.
pub(super) struct NamesInProducts;

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
}
