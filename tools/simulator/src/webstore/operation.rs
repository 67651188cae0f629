//! The operations of a client.

use http::Method;
use serde_json::{Value, json};
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use super::{
    WebStore,
    labels::{Label, LabelKind},
};
use crate::Bystanders;

/// The numbers of clients and items.
#[derive(Clone, Copy, Debug)]
pub struct WebStoreSize {
    /// Clients that work at the same time.
    pub clients: usize,
    /// Customers of each client. Every client orders for all of them.
    pub customers: usize,
    /// Categories of each client, and as many tags. Every client uses all of them.
    pub labels: usize,
    /// Products of each client.
    pub products: usize,
}

/// One operation of a client. Numbers are those of labels, products, customers and orders in the
/// [`WebStore`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum WebStoreOperation {
    PutLabel { label: Label, name: String },
    GetLabel { label: Label },
    PutProduct { product: usize, text: ProductText },
    MoveProduct { product: usize, from: usize, to: usize },
    DeleteProduct { product: usize, category: usize },
    GetProduct { product: usize, category: usize },
    PutCustomer { customer: usize, name: String },
    GetCustomer { customer: usize },
    PutOrder { order: usize },
    DeleteOrder { order: usize },
    GetOrder { order: usize },
}

/// A product as its client sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductText {
    /// Its category.
    pub category: usize,
    /// Its name.
    pub name: String,
    /// Its price, in cents.
    pub price: u64,
    /// Its tags.
    pub tags: Vec<usize>,
}

impl WebStoreSize {
    /// Returns the number of an item that only this client changes. Each client has `each` of them.
    fn own(self, each: usize, client: usize, random: &mut Random) -> usize {
        debug_assert!(client < self.clients);
        client * each + random.index(each)
    }
}

impl WebStoreOperation {
    /// Returns the next operation of a client.
    pub(super) fn random(client: usize, model: &mut WebStore, random: &mut Random) -> Self {
        let size = model.size;
        let own_label = Label {
            kind: if random.chance(0.5) { LabelKind::Category } else { LabelKind::Tag },
            number: size.own(size.labels, client, random),
        };
        let own_customer = size.own(size.customers, client, random);
        let customer = random.index(size.clients * size.customers);
        let product = size.own(size.products, client, random);
        let category = random.index(size.clients * size.labels);
        let at = model.category_of(product);
        let number = random.below(1_000_000);
        // Products, orders and their prices need the items that they name.
        if model.is_missing(own_label) {
            return Self::PutLabel { label: own_label, name: label_name(number) };
        }
        match random.below(100) {
            0..12 => Self::PutLabel { label: own_label, name: label_name(number) },
            12..15 => Self::GetLabel { label: own_label },
            15..40 => {
                let category = at.unwrap_or(category);
                let text = ProductText::random(model, category, number, random);
                Self::PutProduct { product, text }
            }
            40..48 => match at {
                Some(from) => Self::MoveProduct { product, from, to: category },
                None => Self::GetProduct { product, category },
            },
            48..52 => Self::DeleteProduct { product, category: at.unwrap_or(category) },
            52..56 => Self::GetProduct { product, category: at.unwrap_or(category) },
            56..62 => Self::PutCustomer { customer: own_customer, name: format!("Name {number}") },
            62..66 => Self::GetCustomer { customer: own_customer },
            66..84 => match model.new_order(client, customer, random) {
                Some(order) => Self::PutOrder { order },
                None => Self::GetCustomer { customer: own_customer },
            },
            pick => match model.own_order(client, random) {
                None => Self::GetCustomer { customer: own_customer },
                Some(order) if pick < 93 => Self::DeleteOrder { order },
                Some(order) if pick < 96 => Self::PutOrder { order },
                Some(order) => Self::GetOrder { order },
            },
        }
    }

    /// Returns the request.
    pub(super) fn call(&self, model: &WebStore) -> Call {
        match self {
            Self::PutLabel { label, name } => {
                Call::new(Method::PUT, label.path()).json(json!({ "name": name }))
            }
            Self::GetLabel { label } => Call::get(label.path()),
            Self::PutProduct { product, text } => {
                let path = product_path(text.category, *product);
                Call::new(Method::PUT, path).json(text.body())
            }
            Self::MoveProduct { product, from, to } => {
                let path = format!("{}/move", product_path(*from, *product));
                let to = Label { kind: LabelKind::Category, number: *to };
                Call::new(Method::POST, path).json(json!({ "categoryId": to.id() }))
            }
            Self::DeleteProduct { product, category } => {
                Call::new(Method::DELETE, product_path(*category, *product))
            }
            Self::GetProduct { product, category } => Call::get(product_path(*category, *product)),
            Self::PutCustomer { customer, name } => {
                Call::new(Method::PUT, customer_path(*customer)).json(json!({
                    "firstName": name, "lastName": "Customer",
                    "emailAddress": "someone@example.com", "addresses": [],
                }))
            }
            Self::GetCustomer { customer } => Call::get(customer_path(*customer)),
            Self::PutOrder { order } => {
                let it = &model.orders[*order];
                Call::new(Method::POST, format!("{}/orders", customer_path(it.customer)))
                    .json(it.body())
                    .key(format!("order-{order}"))
            }
            Self::DeleteOrder { order } => Call::new(Method::DELETE, model.orders[*order].path()),
            Self::GetOrder { order } => Call::get(model.orders[*order].path()),
        }
    }
}

/// Returns categories with products that no client changes.
pub(super) fn bystanders(count: usize) -> Bystanders {
    let path = |category: &str| format!("/api/categories/{category}");
    let category = |number: usize, id: &str| {
        let body = json!({"name": format!("Bystander {number}")});
        (Call::new(Method::PUT, path(id)).json(body), format!("{}/products", path(id)))
    };
    let product = |category: &str, id: &str| {
        let body = json!({"sku": "SKU-1", "name": "A product", "price": 1, "tagIds": []});
        Call::new(Method::PUT, format!("{}/products/{id}", path(category))).json(body)
    };
    Bystanders::new(count, category, product)
}

impl ProductText {
    fn random(model: &WebStore, category: usize, number: u64, random: &mut Random) -> Self {
        let labels = model.size.clients * model.size.labels;
        let mut tags: Vec<_> = (0..random.index(4)).map(|_| random.index(labels)).collect();
        tags.sort_unstable();
        tags.dedup();
        Self {
            category,
            name: format!("ProductState {number}"),
            price: random.below(10_000_000),
            tags,
        }
    }

    fn body(&self) -> Value {
        let tags: Vec<String> =
            self.tags.iter().map(|&number| Label { kind: LabelKind::Tag, number }.id()).collect();
        json!({ "sku": "SKU-1", "name": self.name, "price": money(self.price), "tagIds": tags })
    }
}

fn label_name(number: u64) -> String {
    format!("Label {number}")
}

/// Returns an amount as JSON.
fn money(cents: u64) -> Value {
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    serde_json::from_str(&text).unwrap_or_default()
}

/// Returns the cents of an amount in JSON.
pub(super) fn cents(amount: &Value) -> Option<u64> {
    // Far below 2^53 cents, so the nearest whole number is the exact one.
    let cents = (amount.as_f64()? * 100.0).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
    (0.0..1e15).contains(&cents).then_some(cents as u64)
}

pub(super) fn product_id(product: usize) -> String {
    format!("p{product}")
}

pub(super) fn product_path(category: usize, product: usize) -> String {
    let category = Label { kind: LabelKind::Category, number: category };
    format!("{}/products/{}", category.path(), product_id(product))
}

pub(super) fn customer_id(customer: usize) -> String {
    format!("c{customer}")
}

pub(super) fn customer_path(customer: usize) -> String {
    format!("/api/customers/{}", customer_id(customer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_survive_a_round_trip() {
        for amount in [0, 1, 10, 99, 1_234_567, 99_999_999] {
            assert_eq!(cents(&money(amount)), Some(amount));
        }
        assert_eq!(cents(&json!("12.50")), None);
    }
}
