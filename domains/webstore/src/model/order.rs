//! Sales orders.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CategoryId, CustomerId, CustomerItem, Money, Name, Price, ProductId, Quantity, Sku};
use tributary_functions::{
    http::from_form,
    projection::item,
    values::{CommandId, Timestamp, checked_text, id_rule},
};

checked_text!(
    /// The id of an order.
    OrderId, "019ae5b2-7c1f-7d2a-9f0e-3b6d5a4c2e10", id_rule
);

pub(super) const MAX_LINES: usize = 50;

/// An order as it is stored.
#[item(CustomerItem, partition = customer_id, id = id)]
pub struct SalesOrder {
    #[serde(flatten)]
    pub public: PublicOrder,
    /// The [`NewOrder::digest`] of the request: a repeated request has the same one.
    pub request: CommandId,
}

/// An order, as the API shows it. Names and prices are those of the day of the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Order")]
pub struct PublicOrder {
    /// Made by the server.
    pub id: OrderId,
    /// The partition key.
    pub customer_id: CustomerId,
    /// The date of creation.
    pub order_date: Timestamp,
    /// The lines of the order.
    pub items: Vec<OrderLine>,
    /// The sum of the lines.
    pub total: Money,
}

/// A line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderLine {
    /// The product.
    pub product_id: ProductId,
    /// Its stock-keeping unit.
    #[schemars(with = "Sku")]
    pub sku: String,
    /// Its name.
    #[schemars(with = "Name")]
    pub name: String,
    /// Its price.
    pub price: Price,
    /// The number of pieces.
    pub quantity: Quantity,
}

/// An order to create: 1 to 50 lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder(pub Vec<NewOrderLine>);

from_form!(NewOrder(objects("items", 1..=MAX_LINES)));

from_form!(
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NewOrderLine {
        pub product_id: ProductId = text("productId", ProductId::parse),
        /// The category of the product, which is the partition key of its item.
        pub category_id: CategoryId = text("categoryId", CategoryId::parse),
        pub quantity: Quantity = number("quantity", Quantity::parse),
    }
);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum OrderableItem {
    Product(OrderedProduct),
    /// Such as a tombstone.
    #[serde(other)]
    Other,
}

/// The fields of a product that an order copies.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct OrderedProduct {
    pub id: ProductId,
    pub sku: String,
    pub name: String,
    pub price: Price,
}

/// The products of an order by category and id.
pub type OrderedProducts = BTreeMap<(CategoryId, ProductId), OrderedProduct>;

impl NewOrder {
    /// Returns the ordered products, each once, by category.
    pub fn products(&self) -> BTreeMap<&CategoryId, BTreeSet<&ProductId>> {
        let mut products: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for NewOrderLine { product_id, category_id, .. } in &self.0 {
            products.entry(category_id).or_default().insert(product_id);
        }
        products
    }

    /// Returns a digest that differs from that of each order with other lines. No id contains a
    /// space, so different lines give different texts.
    pub fn digest(&self) -> CommandId {
        let line = |NewOrderLine { product_id, category_id, quantity }: &NewOrderLine| {
            format!("{category_id} {product_id} {}", Money::from(*quantity).cents() / 100)
        };
        CommandId::from_text(&self.0.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    /// Returns the order with names and prices; `None` when a product is missing.
    pub fn priced(
        &self,
        id: OrderId,
        customer_id: CustomerId,
        products: &OrderedProducts,
    ) -> Option<SalesOrder> {
        let line = |NewOrderLine { product_id, category_id, quantity }: &NewOrderLine| {
            let product = products.get(&(category_id.clone(), product_id.clone()))?;
            let OrderedProduct { id, sku, name, price } = product.clone();
            Some(OrderLine { product_id: id, sku, name, price, quantity: *quantity })
        };
        let items: Vec<OrderLine> = self.0.iter().map(line).collect::<Option<_>>()?;
        let total = items.iter().map(|line| line.price.times(line.quantity)).sum();
        let order_date = Timestamp::now();
        let public = PublicOrder { id, customer_id, order_date, items, total };
        Some(SalesOrder { public, request: self.digest() })
    }
}
