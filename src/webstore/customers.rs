//! Where the WebStore keeps its customers and their orders.

use std::sync::Arc;

use futures::future::try_join_all;
use tributary_functions::{
    cosmos::{Container, Cosmos, Reads, StoreError, Stored, containers},
    engines::counted_children::{CHILD_BYTES, Changes, CountedChildren, Family},
};

use super::{
    hashing::Hashing,
    model::{
        CategoryId, Customer, CustomerEdit, CustomerId, CustomerItem, NewOrder, OrderId,
        OrderableItem, OrderedProducts, ProductId, PublicCustomer, PublicCustomerItem, SalesOrder,
    },
};

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

/// The orders of a customer, which counts them.
pub(super) struct Orders;

impl Family for Orders {
    type Key = CustomerId;
    type Item = CustomerItem;
    type Parent = Customer;
    type Child = SalesOrder;
    type ChildId = OrderId;
    type Edit = CustomerEdit;

    fn parent(item: CustomerItem) -> Option<Customer> {
        if let CustomerItem::Customer(customer) = item { Some(*customer) } else { None }
    }

    fn parent_item(customer: Customer) -> CustomerItem {
        CustomerItem::Customer(Box::new(customer))
    }

    fn child(item: CustomerItem) -> Option<SalesOrder> {
        if let CustomerItem::SalesOrder(order) = item { Some(order) } else { None }
    }

    fn child_item(order: &SalesOrder, _: &Customer) -> CustomerItem {
        CustomerItem::SalesOrder(order.clone())
    }

    fn child_id(order: &SalesOrder) -> OrderId {
        order.public.id.clone()
    }

    fn after(customer: &Customer, changes: &Changes<'_, Self>) -> Customer {
        let count = changes.count(customer.public.sales_order_count, |_| true);
        let customer = customer.counted(count);
        if let Some(edit) = changes.edit { customer.with(edit) } else { customer }
    }

    fn is_created_once(_: &OrderId) -> bool {
        true
    }

    fn size(order: &SalesOrder) -> usize {
        CHILD_BYTES * (1 + order.public.items.len())
    }
}
