//! The containers of the WebStore, and the states of its handlers.

use std::sync::Arc;

use futures::{TryStreamExt, future::try_join_all};
use tributary_functions::{
    cosmos::{
        Container, Cosmos, ETag, Query, ReadResult, Reads, Scope, StoreError, Stored, containers,
    },
    engines::{command::ItemSlot, counted_children::CountedChildren},
    http::CpuBoundWork,
    projection::Origin,
};

use super::{
    model::{
        CategoryId, Customer, CustomerId, CustomerItem, CustomerView, DeletedLabel, DeletedProduct,
        Label, LabelCopy, LabelItem, LabelKind, NewOrder, OrderId, OrderableItem, OrderedProducts,
        Product, ProductId, ProductItem, PublicCustomer, SalesOrder, TagId,
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
    pub(super) reads: Reads,
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
            reads: Reads::Session,
            customers,
        }
    }

    pub(super) async fn label(&self, kind: LabelKind, id: &str) -> ReadResult<LabelItem> {
        self.labels.read(kind.as_str(), id).await
    }

    pub(super) async fn live_label(&self, kind: LabelKind, id: &str) -> ReadResult<Label> {
        Ok(self.label(kind, id).await?.and_then(Stored::of_type))
    }

    /// Returns those of the tags with these ids that exist: one query in the partition of the tags.
    pub(super) async fn tags(&self, ids: &[TagId]) -> Result<Vec<Label>, StoreError> {
        let ids = ids.iter().map(TagId::as_str);
        let found: Vec<LabelItem> =
            self.labels.query_ids(Scope::Partition(LabelKind::Tag.as_str()), "*", ids).await?;
        Ok(found.into_iter().filter_map(|item| item.try_into().ok()).collect())
    }

    /// Writes a label or its tombstone over the item with the ETag `read`; creates it without one.
    pub(super) async fn write_label<T: Into<LabelItem> + Clone>(
        &self,
        written: T,
        read: Option<&ETag>,
    ) -> Result<Stored<T>, StoreError> {
        let item: LabelItem = written.clone().into();
        let Origin { partition, id, .. } = item.origin();
        let etag = self.labels.put(&partition, &id, &item, read).await?;
        Ok(Stored { item: written, etag })
    }

    /// Restores a label that a product uses. `found` is the item that was read in its slot.
    pub(super) async fn restore_label(
        &self,
        kind: LabelKind,
        copy: &LabelCopy,
        found: Option<Stored<LabelItem>>,
    ) -> Result<Label, StoreError> {
        let (label, read) = match LabelSlot::from_item(found) {
            LabelSlot::Live(label) => return Ok(label.item),
            LabelSlot::Deleted(it) => (it.item.restored(), Some(it.etag)),
            LabelSlot::Empty => (copy.restored(kind), None),
        };
        let label = self.write_label(label, read.as_ref()).await?.item;
        tracing::info!(
            label.kind = kind.as_str(),
            label.id = copy.id,
            "Restored a deleted label, since a product uses it"
        );
        Ok(label)
    }

    pub(super) async fn product_item(
        &self,
        category_id: &CategoryId,
        id: &ProductId,
    ) -> ReadResult<ProductItem> {
        self.products.read(category_id.as_str(), id.as_str()).await
    }

    pub(super) async fn product(
        &self,
        category_id: &CategoryId,
        id: &ProductId,
    ) -> ReadResult<Product> {
        Ok(self.product_item(category_id, id).await?.and_then(Stored::of_type))
    }

    /// Writes a product or its tombstone over the item with the ETag `read`; creates it without one.
    pub(super) async fn write<T: Into<ProductItem> + Clone>(
        &self,
        written: T,
        read: Option<&ETag>,
    ) -> Result<Stored<T>, StoreError> {
        let item: ProductItem = written.clone().into();
        let (category_id, id, _) = item.key();
        let etag = self.products.put(category_id.as_str(), id.as_str(), &item, read).await?;
        Ok(Stored { item: written, etag })
    }

    /// Writes a product that comes from another category, in the state `from`, as [`Self::write`] does.
    pub(super) async fn write_moved(
        &self,
        product: Product,
        from: &ETag,
        read: Option<&ETag>,
    ) -> Result<Stored<ProductItem>, StoreError> {
        let item = ProductItem::from(product);
        let (category_id, id, _) = item.key();
        let (partition, place) = (category_id.as_str(), (from, read));
        let etag = self.products.put_moved(partition, id.as_str(), &item, place).await?;
        Ok(Stored { item, etag })
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

    pub(super) async fn customer(&self, id: &CustomerId) -> ReadResult<Customer> {
        let stored = self.customers.read::<CustomerItem>(id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(Stored::of_type))
    }

    /// Returns a customer for an answer: a type without a field for a password.
    pub(super) async fn public_customer(&self, id: &CustomerId) -> ReadResult<PublicCustomer> {
        let stored = self.customers.read(id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(|stored| stored.filter_map(CustomerView::customer)))
    }

    pub(super) async fn order(
        &self,
        customer_id: &CustomerId,
        id: &OrderId,
    ) -> ReadResult<SalesOrder> {
        let stored = self.customers.read::<CustomerItem>(customer_id.as_str(), id.as_str());
        Ok(stored.await?.and_then(Stored::of_type))
    }

    /// Returns those of the products of an order that exist: one store request for each category.
    pub(super) async fn products_of(
        &self,
        order: &NewOrder,
    ) -> Result<OrderedProducts, StoreError> {
        let categories = order.products().into_iter();
        let found = categories.map(|(category_id, ids)| async move {
            let items =
                self.orderable_items(category_id, &ids.into_iter().collect::<Vec<_>>()).await?;
            let product = |item| match item {
                OrderableItem::Product(it) => Some(((category_id.clone(), it.id.clone()), it)),
                OrderableItem::Other => None,
            };
            Ok::<_, StoreError>(items.into_iter().filter_map(product))
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }

    /// Returns those of the items with these ids in a category that exist, as an order reads them.
    async fn orderable_items(
        &self,
        category_id: &CategoryId,
        ids: &[&ProductId],
    ) -> Result<Vec<OrderableItem>, StoreError> {
        let partition = category_id.as_str();
        if let [id] = ids {
            let stored = self.products.read(partition, id.as_str()).await?;
            return Ok(stored.map(|Stored { item, .. }| item).into_iter().collect());
        }
        let ids = ids.iter().map(|id| id.as_str());
        self.products
            .query_ids(Scope::Partition(partition), "c.type, c.id, c.sku, c.name, c.price", ids)
            .await
    }
}
