//! The name of a label on the products that relocate it.

use tributary_functions::{
    cosmos::{Container, Query, Scope, StoreError},
    projection::fan_out::{FanOut, Origin, Update},
};

use crate::{
    Catalog,
    model::{Label, LabelItem, LabelKind, LabelRenaming, ProductItem},
};

/// The names of labels, with a copy in each product of the label. The products of a category are in
/// one partition, those of a tag in all partitions. Each copied name has a version of its own.
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
        let product = product.with_newer_label(label)?;
        let category_id = product.category_id.to_string();
        let id = product.id.to_string();
        Some(Update::new(&category_id, &id, product.into()))
    }

    fn continuation(label: &Label) -> (String, LabelItem) {
        let item = LabelRenaming::new(label);
        (item.id.clone(), item.into())
    }
}
