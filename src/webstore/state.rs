//! Where the WebStore keeps its items, and what its handlers take as their `State`.

use std::sync::Arc;

use axum::extract::FromRef;
use futures::{TryStreamExt, future::try_join_all};
use tributary_functions::{
    cosmos::{Container, Cosmos, ETag, Query, Reads, Scope, StoreError, Stored, containers},
    engines::{
        command::Place,
        counted_children::{CountedChildren, Family},
    },
};

use super::{
    hashing::Hashing,
    model::{
        CategoryId, Customer, CustomerId, DeletedLabel, DeletedProduct, Label, LabelCopy,
        LabelItem, LabelKind, NewOrder, OrderId, OrderableItem, OrderedProducts, Product,
        ProductId, ProductItem, PublicCustomer, PublicCustomerItem, SalesOrder, TagId,
    },
    orders::Orders,
};

/// How many products of a category or a tag are counted.
pub(super) const MAX_COUNTED_PRODUCTS: u32 = 100;

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
    /// The customers of a database.
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

    /// Returns a customer: one point read.
    pub(super) async fn customer(
        &self,
        id: &CustomerId,
    ) -> Result<Option<Stored<Customer>>, StoreError> {
        let stored = self.customers.read(id.as_str(), id.as_str()).await?;
        Ok(stored
            .and_then(|Stored { item, etag }| Some(Stored { item: Orders::parent(item)?, etag })))
    }

    /// Returns a customer for an answer, which has no place for a password: one point read.
    pub(super) async fn public_customer(
        &self,
        id: &CustomerId,
    ) -> Result<Option<Stored<PublicCustomer>>, StoreError> {
        let stored = self.customers.read(id.as_str(), id.as_str()).await?;
        Ok(stored.and_then(|Stored { item, etag }| match item {
            PublicCustomerItem::Customer(customer) => Some(Stored { item: *customer, etag }),
            PublicCustomerItem::Other => None,
        }))
    }

    /// Returns an order: one point read.
    pub(super) async fn order(
        &self,
        customer_id: &CustomerId,
        id: &OrderId,
    ) -> Result<Option<Stored<SalesOrder>>, StoreError> {
        let stored = self.customers.read(customer_id.as_str(), id.as_str()).await?;
        Ok(stored
            .and_then(|Stored { item, etag }| Some(Stored { item: Orders::child(item)?, etag })))
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
