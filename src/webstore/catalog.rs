//! Where the catalog keeps its items.

use std::sync::Arc;

use futures::TryStreamExt;
use tributary_functions::{
    cosmos::{Container, Cosmos, ETag, Query, Reads, Scope, StoreError, Stored, containers},
    engines::command::Place,
};

use super::model::{
    CategoryId, DeletedLabel, DeletedProduct, Label, LabelCopy, LabelItem, LabelKind, Product,
    ProductId, ProductItem, TagId,
};

/// How many products of a category or a tag are counted.
pub(super) const MAX_COUNTED_PRODUCTS: u32 = 100;

/// The containers of the catalog. Cloning is cheap.
#[derive(Clone)]
pub struct Catalog {
    /// Products, each in the partition of its category.
    pub products: Container,
    /// Categories and tags, each kind in one partition.
    pub labels: Container,
    pub(super) reads: Reads,
}

containers!(Catalog: products, labels);

impl Catalog {
    /// The catalog in a database.
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self {
            products: cosmos.container("product"),
            labels: cosmos.container("productMeta"),
            reads: Reads::Session,
        }
    }

    /// What stands in the place of a category or a tag.
    pub(super) async fn label(
        &self,
        kind: LabelKind,
        id: &str,
    ) -> Result<Option<Stored<LabelItem>>, StoreError> {
        self.labels.read(kind.as_str(), id).await
    }

    /// A category or a tag; `None` where there is none.
    pub(super) async fn live_label(
        &self,
        kind: LabelKind,
        id: &str,
    ) -> Result<Option<Stored<Label>>, StoreError> {
        Ok(label_place(self.label(kind, id).await?).live())
    }

    /// The tags with these ids, as far as there are such: one query in the partition of the tags.
    pub(super) async fn tags(&self, ids: &[TagId]) -> Result<Vec<Label>, StoreError> {
        let ids = ids.iter().map(TagId::as_str);
        let found: Vec<LabelItem> =
            self.labels.query_ids("*", LabelKind::Tag.as_str(), ids).await?;
        let live = found.into_iter().filter_map(|item| match item {
            LabelItem::Live(tag) => Some(tag),
            LabelItem::Deleted(_) | LabelItem::Renaming(_) => None,
        });
        Ok(live.collect())
    }

    /// Writes a category or a tag that a product uses, where `found` is its tombstone, or nothing.
    pub(super) async fn bring_back(
        &self,
        kind: LabelKind,
        copy: &LabelCopy,
        found: Option<Stored<LabelItem>>,
    ) -> Result<Label, StoreError> {
        let (label, read) = match found {
            Some(Stored { item: LabelItem::Live(label), .. }) => return Ok(label),
            Some(Stored { item: LabelItem::Deleted(it), etag }) => (it.revived(), Some(etag)),
            // No label has the id of a continuation.
            Some(Stored { item: LabelItem::Renaming(_), .. }) | None => (copy.proved(kind), None),
        };
        let item = LabelItem::Live(label.clone());
        self.labels.put(kind.as_str(), &copy.id, &item, read.as_ref()).await?;
        tracing::info!(
            label.kind = kind.as_str(),
            label.id = copy.id,
            "A deleted category or tag is back: a product uses it"
        );
        Ok(label)
    }

    /// What stands in the place of a product.
    pub(super) async fn place(
        &self,
        category_id: &CategoryId,
        id: &ProductId,
    ) -> Result<Option<Stored<ProductItem>>, StoreError> {
        self.products.read(category_id.as_str(), id.as_str()).await
    }

    /// A product; `None` where there is none.
    pub(super) async fn product(
        &self,
        category_id: &CategoryId,
        id: &ProductId,
    ) -> Result<Option<Stored<Product>>, StoreError> {
        Ok(product_place(self.place(category_id, id).await?).live())
    }

    /// Writes what takes the place of a product, which was read before.
    pub(super) async fn write(
        &self,
        item: &ProductItem,
        read: Option<&ETag>,
    ) -> Result<ETag, StoreError> {
        let (category_id, id, _) = item.key();
        self.products.put(category_id.as_str(), id.as_str(), item, read).await
    }

    /// Returns how many products have this category or tag; `None` where they are more than
    /// [`MAX_COUNTED_PRODUCTS`]. That of a category is one query in its partition; the products of a
    /// tag are in all partitions.
    pub(super) async fn uses(
        &self,
        kind: LabelKind,
        id: &str,
    ) -> Result<Option<usize>, StoreError> {
        let (query, scope) = using(kind, id)?;
        let mut pages =
            self.products.pages::<String>(query, scope, MAX_COUNTED_PRODUCTS + 1).await?;
        let mut count = 0;
        while let Some(page) = pages.try_next().await? {
            count += page.len();
            if count > MAX_COUNTED_PRODUCTS as usize {
                return Ok(None);
            }
        }
        Ok(Some(count))
    }

    /// Returns true if a product has this category or tag.
    pub(super) async fn is_used(&self, kind: LabelKind, id: &str) -> Result<bool, StoreError> {
        let (query, scope) = using(kind, id)?;
        let mut pages = self.products.pages::<String>(query, scope, 1).await?;
        while let Some(page) = pages.try_next().await? {
            if !page.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What a command finds where a category or a tag would be.
pub(super) type LabelPlace = Place<Label, DeletedLabel>;

/// What a command finds where a product would be.
pub(super) type ProductPlace = Place<Product, DeletedProduct>;

/// Returns what an item of the labels' container is to a command.
pub(super) fn label_place(stored: Option<Stored<LabelItem>>) -> LabelPlace {
    match stored {
        Some(Stored { item: LabelItem::Live(item), etag }) => Place::Live(Stored { item, etag }),
        Some(Stored { item: LabelItem::Deleted(item), etag }) => {
            Place::Deleted(Stored { item, etag })
        }
        // No label has the id of a continuation.
        Some(Stored { item: LabelItem::Renaming(_), .. }) | None => Place::Empty,
    }
}

/// Returns what an item of the products' container is to a command.
pub(super) fn product_place(stored: Option<Stored<ProductItem>>) -> ProductPlace {
    match stored {
        Some(Stored { item: ProductItem::Product(item), etag }) => {
            Place::Live(Stored { item: *item, etag })
        }
        Some(Stored { item: ProductItem::DeletedProduct(item), etag }) => {
            Place::Deleted(Stored { item, etag })
        }
        None => Place::Empty,
    }
}

/// The ids of the products that have a category or a tag. Tombstones have neither.
fn using(kind: LabelKind, id: &str) -> Result<(Query, Scope<'_>), StoreError> {
    let (text, scope) = match kind {
        LabelKind::Category => (
            "SELECT VALUE c.id FROM c WHERE c.categoryId = @id AND c.categoryVersion > 0",
            Scope::Partition(id),
        ),
        LabelKind::Tag => {
            ("SELECT VALUE c.id FROM c JOIN t IN c.tags WHERE t.id = @id", Scope::Container)
        }
    };
    Ok((Query::from(text).with_parameter("@id", id)?, scope))
}
