//! Where the WebStore keeps its items, and what its handlers take as their `State`.

use std::sync::Arc;

use axum::extract::FromRef;
use futures::{TryStreamExt, future::try_join_all};
use tributary_functions::{
    cosmos::{
        Container, Cosmos, ETag, Query, ReadResult, Reads, Scope, StoreError, Stored, containers,
    },
    engines::{command::ItemSlot, counted_children::CountedChildren},
};

use super::{
    hashing::Hashing,
    model::{
        CategoryId, Customer, CustomerAs, CustomerId, CustomerItem, DeletedLabel, DeletedProduct,
        Label, LabelCopy, LabelItem, LabelKind, NewOrder, OrderId, OrderableItem, OrderedProducts,
        Product, ProductId, ProductItem, PublicCustomer, SalesOrder, TagId,
    },
    orders::Orders,
};

/// What a command finds where a label would be. No label has the id of a continuation.
pub(super) type LabelSlot = ItemSlot<Label, DeletedLabel>;

/// What a command finds where a product would be.
pub(super) type ProductSlot = ItemSlot<Product, DeletedProduct>;

/// What the handlers of the WebStore take as their `State`: a part of it.
#[derive(Clone)]
pub(super) struct WebStore {
    pub(super) catalog: Catalog,
    pub(super) customers: Customers,
}

impl FromRef<WebStore> for Catalog {
    fn from_ref(store: &WebStore) -> Self {
        store.catalog.clone()
    }
}

impl FromRef<WebStore> for Customers {
    fn from_ref(store: &WebStore) -> Self {
        store.customers.clone()
    }
}

/// The containers of the catalog. Cloning is cheap.
#[derive(Clone)]
pub struct Catalog {
    /// Products, each in the partition of its category.
    pub products: Container,
    /// Labels, each kind in one partition.
    pub labels: Container,
    pub(super) reads: Reads,
}

containers!(Catalog: products, labels);

impl Catalog {
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        Self {
            products: cosmos.container("product"),
            labels: cosmos.container("productMeta"),
            reads: Reads::Session,
        }
    }

    pub(super) async fn label(&self, kind: LabelKind, id: &str) -> ReadResult<LabelItem> {
        self.labels.read(kind.as_str(), id).await
    }

    pub(super) async fn live_label(&self, kind: LabelKind, id: &str) -> ReadResult<Label> {
        Ok(self.label(kind, id).await?.and_then(Stored::of_type))
    }

    /// The tags with these ids, as far as there are such: one query in the partition of the tags.
    pub(super) async fn tags(&self, ids: &[TagId]) -> Result<Vec<Label>, StoreError> {
        let ids = ids.iter().map(TagId::as_str);
        let found: Vec<LabelItem> =
            self.labels.query_ids("*", LabelKind::Tag.as_str(), ids).await?;
        Ok(found.into_iter().filter_map(|item| item.try_into().ok()).collect())
    }

    /// Writes a label, or its tombstone, in the place of what was read before.
    pub(super) async fn write_label<T: Into<LabelItem> + Clone>(
        &self,
        written: T,
        read: Option<&ETag>,
    ) -> Result<Stored<T>, StoreError> {
        let item: LabelItem = written.clone().into();
        let (kind, id, _) = item.key();
        let etag = self.labels.put(kind.as_str(), id, &item, read).await?;
        Ok(Stored { item: written, etag })
    }

    /// Writes a label that a product uses, where `found` is its tombstone, or nothing.
    pub(super) async fn bring_back(
        &self,
        kind: LabelKind,
        copy: &LabelCopy,
        found: Option<Stored<LabelItem>>,
    ) -> Result<Label, StoreError> {
        let (label, read) = match LabelSlot::from_item(found) {
            LabelSlot::Live(label) => return Ok(label.item),
            LabelSlot::Deleted(it) => (it.item.revived(), Some(it.etag)),
            LabelSlot::Empty => (copy.proved(kind), None),
        };
        let label = self.write_label(label, read.as_ref()).await?.item;
        tracing::info!(
            label.kind = kind.as_str(),
            label.id = copy.id,
            "A deleted label is back: a product uses it"
        );
        Ok(label)
    }

    pub(super) async fn place(
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
        Ok(self.place(category_id, id).await?.and_then(Stored::of_type))
    }

    /// Writes a product, or its tombstone, in the place of what was read before.
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

    /// Returns how many products have this label; `None` where they are more than `at_most`. That of a
    /// category is one query in its partition; the products of a tag are in all partitions.
    pub(super) async fn uses(
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
}

/// The containers of customers and orders. Cloning is cheap.
#[derive(Clone)]
pub struct Customers {
    /// Customers and their orders, each customer in a partition of its own.
    pub customers: Container,
    /// Products, which an order reads.
    pub products: Container,
    /// Customers by the number of their orders.
    pub leaderboard: Container,
    /// Creates, deletes and counts orders, and edits the customers that count them.
    pub(super) orders: CountedChildren<Orders>,
    pub(super) hashing: Hashing,
    pub(super) reads: Reads,
}

containers!(Customers: customers, products, leaderboard);

impl Customers {
    pub fn new(cosmos: &Arc<Cosmos>) -> Self {
        let customers = cosmos.container("customer");
        Self {
            products: cosmos.container("product"),
            leaderboard: cosmos.container("leaderboard"),
            orders: CountedChildren::new(customers.clone()),
            hashing: Hashing::default(),
            reads: Reads::Session,
            customers,
        }
    }

    pub(super) async fn customer(&self, id: &CustomerId) -> ReadResult<Customer> {
        let stored = self.customers.read::<CustomerItem>(id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(Stored::of_type))
    }

    /// Returns a customer for an answer, which has no place for a password.
    pub(super) async fn public_customer(&self, id: &CustomerId) -> ReadResult<PublicCustomer> {
        let stored = self.customers.read(id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(|stored| stored.filter_map(CustomerAs::customer)))
    }

    pub(super) async fn order(
        &self,
        customer_id: &CustomerId,
        id: &OrderId,
    ) -> ReadResult<SalesOrder> {
        let stored = self.customers.read::<CustomerItem>(customer_id.as_str(), id.as_str());
        Ok(stored.await?.and_then(Stored::of_type))
    }

    /// Returns the products of an order, as far as there are such: one store request for each
    /// category.
    pub(super) async fn products_of(
        &self,
        order: &NewOrder,
    ) -> Result<OrderedProducts, StoreError> {
        let categories = order.products().into_iter();
        let found = categories.map(|(category_id, ids)| async move {
            let items = self.items_in(category_id, &ids.into_iter().collect::<Vec<_>>()).await?;
            let product = |item| match item {
                OrderableItem::Product(it) => Some(((category_id.clone(), it.id.clone()), it)),
                OrderableItem::Other => None,
            };
            Ok::<_, StoreError>(items.into_iter().filter_map(product))
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }

    async fn items_in(
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
        self.products.query_ids("c.type, c.id, c.sku, c.name, c.price", partition, ids).await
    }
}
