//! The containers of the WebStore, and the states of its handlers.

use std::sync::Arc;

use futures::{TryStreamExt, future::try_join_all};
use tributary_functions::{cosmos::containers, http::CpuBoundWork, prelude::*};

use super::{
    model::{
        DeletedLabel, DeletedProduct, Label, LabelCopy, LabelId, LabelItem, LabelKind, NewOrder,
        OrderableItem, OrderedProducts, Product, TagId,
    },
    orders::CustomerFamily,
};

/// The slot of a label. No label has the id of a continuation.
pub(super) type LabelSlot = ItemSlot<Label, DeletedLabel>;

pub(super) type ProductSlot = ItemSlot<Product, DeletedProduct>;

/// The containers of the WebStore. Cloning is cheap.
#[derive(Clone)]
pub struct WebStore {
    pub products: Container,
    pub labels: Container,
    pub customers: Container,
    /// Customers by the number of their orders.
    pub leaderboard: Container,
    /// Creates, deletes and counts orders, and edits the customers that count them.
    pub(super) orders: CountedChildren<CustomerFamily>,
    /// Hashes passwords.
    pub(super) hashing: CpuBoundWork,
}

containers!(WebStore: products, labels, customers, leaderboard);

impl WebStore {
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        let customers = cosmos.container("customer");
        Self {
            products: cosmos.container("product"),
            labels: cosmos.container("productMeta"),
            leaderboard: cosmos.container("leaderboard"),
            orders: CountedChildren::new(customers.clone()),
            hashing: CpuBoundWork::default(),
            customers,
        }
    }

    /// Returns a category or a tag. A missing one is a 404.
    pub(super) async fn label<Id: LabelId>(&self, id: &Id) -> Result<Stored<Label>, ApiError> {
        self.labels.item(Id::KIND, id).await?.ok_or(ApiError::NotFound(Id::KIND.as_str()))
    }

    /// Returns those of the tags with these ids that exist: one query in the partition of the tags.
    pub(super) async fn tags(&self, ids: &[TagId]) -> Result<Vec<Label>, StoreError> {
        let ids = ids.iter().map(TagId::as_str);
        let found: Vec<LabelItem> =
            self.labels.query_ids(Scope::Partition(LabelKind::Tag.as_str()), "*", ids).await?;
        Ok(found.into_iter().filter_map(|item| item.try_into().ok()).collect())
    }

    /// Restores a label that a product uses. `found` is the slot of the label.
    pub(super) async fn restore_label(
        &self,
        kind: LabelKind,
        copy: &LabelCopy,
        found: LabelSlot,
    ) -> Result<Label, StoreError> {
        let (label, read) = match found {
            LabelSlot::Live(label) => return Ok(label.item),
            LabelSlot::Deleted(it) => (copy.restored(kind, Some(&it.item)), Some(it.etag)),
            LabelSlot::Empty => (copy.restored(kind, None), None),
        };
        let label = self.labels.save(label, read.as_ref()).await?.item;
        tracing::info!(
            label.kind = kind.as_str(),
            label.id = copy.id,
            "Restored a deleted label, since a product uses it"
        );
        Ok(label)
    }

    /// Returns the number of products with this label, or `None` if it is more than `at_most`. For a
    /// category this is one query in its partition. The products of a tag are in all partitions.
    pub(super) async fn count_uses(
        &self,
        kind: LabelKind,
        id: &str,
        at_most: u32,
    ) -> Result<Option<usize>, StoreError> {
        // Tombstones have neither a category nor tags.
        let (text, scope) = match kind {
            LabelKind::Category => (
                "SELECT VALUE c.id FROM c WHERE c.categoryId = @id AND c.categoryVersion > 0",
                Scope::Partition(id),
            ),
            LabelKind::Tag => {
                ("SELECT VALUE c.id FROM c JOIN t IN c.tags WHERE t.id = @id", Scope::Container)
            }
        };
        let query = Query::from(text).with_parameter("@id", id)?;
        let mut pages = self.products.pages::<String>(query, scope, at_most + 1).await?;
        let mut count = 0;
        while let Some(page) = pages.try_next().await? {
            count += page.len();
            if count > at_most as usize {
                return Ok(None);
            }
        }
        Ok(Some(count))
    }

    /// Returns those of the products of an order that exist: one store request for each category.
    pub(super) async fn products_of(
        &self,
        order: &NewOrder,
    ) -> Result<OrderedProducts, StoreError> {
        let found = order.products().into_iter().map(|(category_id, ids)| async move {
            let partition = category_id.as_str();
            let mut ids = ids.into_iter().map(AsRef::as_ref);
            let items: Vec<OrderableItem> = if ids.len() == 1 {
                let stored = self.products.read(partition, ids.next().unwrap_or_default()).await?;
                stored.map(|Stored { item, .. }| item).into_iter().collect()
            } else {
                let fields = "c.type, c.id, c.sku, c.name, c.price";
                self.products.query_ids(Scope::Partition(partition), fields, ids).await?
            };
            let product = |item| match item {
                OrderableItem::Product(it) => Some(((category_id.clone(), it.id.clone()), it)),
                OrderableItem::Other => None,
            };
            Ok::<_, StoreError>(items.into_iter().filter_map(product))
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }
}
