//! The name of a label on the products that carry it.

use tributary_functions::{
    cosmos::{Container, Query, Scope, StoreError},
    projection::fan_out::{FanOut, Origin, Update},
};

use crate::{
    Catalog,
    model::{Label, LabelItem, LabelKind, LabelRenaming, ProductItem},
};

/// Brings a new name to the products: that of a category to those of one partition, that of a tag to
/// products in all partitions. Each of these names has a version of its own in the product.
pub(super) struct NamesInProducts(pub(super) Catalog);

impl FanOut for NamesInProducts {
    const FUNCTION: &'static str = "LabelNames";
    const PARTITION_KEY: &'static str = "type";
    type Change = LabelItem;
    type Source = Label;
    type Target = ProductItem;

    fn sources(&self) -> &Container {
        &self.0.labels
    }

    fn targets(&self) -> &Container {
        &self.0.products
    }

    fn origin(change: &LabelItem) -> Option<Origin> {
        let (kind, id, version) = change.key();
        Some(Origin::new(kind.as_str(), id, version))
    }

    fn source(item: LabelItem) -> Option<Label> {
        item.try_into().ok()
    }

    fn scope(label: &Label) -> Scope<'_> {
        match label.kind {
            LabelKind::Category => Scope::Partition(&label.public.id),
            LabelKind::Tag => Scope::Container,
        }
    }

    fn outdated(label: &Label) -> Result<Query, StoreError> {
        let query = Query::from(match label.kind {
            LabelKind::Category => {
                "SELECT * FROM c WHERE c.categoryId = @id AND c.categoryVersion < @version"
            }
            LabelKind::Tag => {
                "SELECT VALUE c FROM c JOIN t IN c.tags WHERE t.id = @id AND t.version < @version"
            }
        });
        let query = query.with_parameter("@id", &label.public.id)?;
        Ok(query.with_parameter("@version", label.version)?)
    }

    fn update(target: &ProductItem, label: &Label) -> Option<Update<ProductItem>> {
        let ProductItem::Product(product) = target else { return None };
        let product = product.relabelled(label)?;
        let (category_id, id) = (product.category_id.to_string(), product.id.to_string());
        Some(Update::new(&category_id, &id, product.into()))
    }

    fn continuation(label: &Label) -> (String, LabelItem) {
        let item = LabelRenaming::of(label);
        (item.id.clone(), item.into())
    }
}
