//! The WebStore: categories, tags, products, customers and orders.
//!
//! Each client has labels (categories and tags), products and customers of its own, which only it
//! changes, so it knows exactly what they are. But all of them put their products into the categories
//! of all, tag them with the tags of all, and order for the customers of all: so renames meet
//! creations, edits and moves of products that carry the name, and orders of one customer meet each
//! other. Labels and customers are never deleted here.
//!
//! An order may name another client's product, which may have moved meanwhile: then 404 is right.

mod check;
mod labels;
mod operation;
mod orders;
mod products;

use std::time::{Duration, Instant};

use futures::{FutureExt as _, future::BoxFuture};
use tributary_local::chaos::Random;
use tributary_tools::Call;

pub use labels::{Kind, Label};
pub use operation::{Operation, ProductText, Size};

use crate::{Api, Reply, Workload, oldest};
use labels::Named;
use orders::{Customer, Order};
use products::Product;

/// The reference model of the WebStore.
#[derive(Debug)]
pub struct WebStore {
    size: Size,
    /// How far a read may be behind.
    behind: Duration,
    categories: Vec<Named>,
    tags: Vec<Named>,
    products: Vec<Product>,
    customers: Vec<Customer>,
    orders: Vec<Order>,
    orders_of: Vec<Vec<usize>>,
}

/// What an operation found when it began.
#[derive(Debug)]
pub struct Begun {
    /// The oldest state that a read may see.
    oldest: Instant,
    /// Whether the labels that it names exist: `None` when one may or may not. One that did not may
    /// have been created since.
    labels_exist: Option<bool>,
    /// The same of its customer.
    customer_exists: Option<bool>,
}

impl WebStore {
    /// An empty shop, whose reads may be so far behind.
    pub fn new(size: Size, behind: Duration) -> Self {
        let Size { clients, customers, labels, products } = size;
        Self {
            size,
            behind,
            categories: vec![Named::default(); clients * labels],
            tags: vec![Named::default(); clients * labels],
            products: vec![Product::default(); clients * products],
            customers: vec![Customer::default(); clients * customers],
            orders: Vec::new(),
            orders_of: vec![Vec::new(); clients],
        }
    }
}

impl Workload for WebStore {
    type Operation = Operation;
    type Begun = Begun;

    fn clients(&self) -> usize {
        self.size.clients
    }

    fn next(&mut self, client: usize, random: &mut Random) -> Operation {
        Operation::random(client, self, random)
    }

    fn begin(&mut self, operation: &Operation) -> Begun {
        match operation {
            Operation::PutLabel { label, .. } => self.label_begins(*label),
            Operation::PutCustomer { customer, .. } => self.customer_begins(*customer),
            _ => {}
        }
        let labels_exist = match operation {
            Operation::PutProduct { text, .. } => self.labels_of(text),
            Operation::MoveProduct { to, .. } => {
                self.exist([Label { kind: Kind::Category, number: *to }])
            }
            _ => None,
        };
        let customer_exists = match operation {
            Operation::PutOrder { order } => self.customer_exists(self.orders[*order].customer),
            _ => None,
        };
        let oldest = oldest(Instant::now(), self.behind);
        Begun { oldest, labels_exist, customer_exists }
    }

    fn call(&self, operation: &Operation) -> Call {
        operation.call(self)
    }

    fn finish(
        &mut self,
        client: usize,
        operation: &Operation,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        match operation {
            Operation::PutLabel { label, name } => self.label_put(*label, name, reply, repeated),
            Operation::GetLabel { label } => self.label_shown(*label, begun, reply),
            Operation::PutProduct { product, text } => {
                self.product_put(*product, text, begun, reply, repeated)
            }
            Operation::MoveProduct { product, to, .. } => {
                self.product_moved(*product, *to, begun, reply)
            }
            Operation::DeleteProduct { product, .. } => {
                self.product_deleted(*product, reply, repeated)
            }
            Operation::GetProduct { product, category } => {
                self.product_shown(*product, *category, begun, reply)
            }
            Operation::PutCustomer { customer, name } => {
                self.customer_put(*customer, name, reply, repeated)
            }
            Operation::GetCustomer { customer } => self.customer_shown(*customer, begun, reply),
            Operation::PutOrder { order } => self.order_put(client, *order, begun, reply, repeated),
            Operation::DeleteOrder { order } => self.order_deleted(*order, reply, repeated),
            Operation::GetOrder { order } => self.order_shown(*order, begun, reply),
        }
    }

    fn known(&self, operation: &Operation) -> String {
        match operation {
            Operation::PutLabel { label, .. } | Operation::GetLabel { label } => {
                format!("{:?}", self.named(*label))
            }
            Operation::PutProduct { product, .. }
            | Operation::MoveProduct { product, .. }
            | Operation::DeleteProduct { product, .. }
            | Operation::GetProduct { product, .. } => format!("{:?}", self.products[*product]),
            Operation::PutCustomer { customer, .. } | Operation::GetCustomer { customer } => {
                format!("{:?}", self.customers[*customer])
            }
            Operation::PutOrder { order }
            | Operation::DeleteOrder { order }
            | Operation::GetOrder { order } => format!("{:?}", self.orders[*order]),
        }
    }

    fn check<'a>(&'a self, api: &'a dyn Api) -> BoxFuture<'a, Vec<String>> {
        check::check(api, self).boxed()
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};
    use serde_json::{Value, json};

    use super::*;

    struct Shop(WebStore);

    impl Shop {
        /// One client with a category, a tag, a customer, and a product of 9.99.
        fn new() -> Self {
            let size = Size { clients: 1, customers: 1, labels: 1, products: 1 };
            let mut shop = Self(WebStore::new(size, Duration::ZERO));
            for kind in [Kind::Category, Kind::Tag] {
                let label = Label { kind, number: 0 };
                let named = Operation::PutLabel { label, name: "Name".into() };
                assert!(shop.ends(&named, 201, &json!({ "id": label.id(), "name": "Name" })));
            }
            let signed_up = Operation::PutCustomer { customer: 0, name: "Ann".into() };
            assert!(shop.ends(&signed_up, 201, &json!({ "firstName": "Ann" })));
            assert!(shop.ends(&priced(999), 201, &product(9.99)));
            shop
        }

        /// Whether this is a right answer.
        fn ends(&mut self, operation: &Operation, status: u16, body: &Value) -> bool {
            let begun = self.0.begin(operation);
            let status = StatusCode::from_u16(status).unwrap();
            let reply = Reply::new(status, &HeaderMap::new(), body.to_string().as_bytes());
            self.0.finish(0, operation, &begun, &reply, false)
        }

        /// An order of the product.
        fn order(&mut self) -> Operation {
            let mut random = Random::stream(1, 1);
            Operation::PutOrder { order: self.0.new_order(0, 0, &mut random).unwrap() }
        }
    }

    fn priced(price: u64) -> Operation {
        let text = ProductText { category: 0, name: "Bell".into(), price, tags: vec![0] };
        Operation::PutProduct { product: 0, text }
    }

    fn product(price: f64) -> Value {
        json!({ "id": "p0", "categoryId": "category-0", "name": "Bell", "price": price,
                "tags": [{ "id": "tag-0", "name": "Name" }] })
    }

    /// The answer to the last order, with each line at a price in cents.
    fn ordered(shop: &Shop, price: u64, error_in_total: u64) -> Value {
        let mut body = shop.0.orders.last().unwrap().body();
        let mut total = error_in_total;
        for item in body["items"].as_array_mut().unwrap() {
            total += price * item["quantity"].as_u64().unwrap();
            item["price"] = json!(f64::from(u32::try_from(price).unwrap()) / 100.0);
        }
        body["total"] = json!(f64::from(u32::try_from(total).unwrap()) / 100.0);
        body["id"] = json!("order-1");
        body
    }

    #[test]
    fn an_edit_that_shows_another_price_is_wrong() {
        assert!(Shop::new().ends(&priced(1_250), 200, &product(12.5)));
        assert!(!Shop::new().ends(&priced(1_250), 200, &product(9.99)));
        assert!(!Shop::new().ends(&priced(1_250), 201, &product(12.5)));
        assert!(!Shop::new().ends(&priced(1_250), 404, &Value::Null));
    }

    #[test]
    fn an_order_has_the_price_of_its_product_and_the_sum_of_its_lines() {
        for (price, error_in_total, status, right) in [
            (999, 0, 201, true),
            (999, 1, 201, false),
            (1_000, 0, 201, false),
            (999, 0, 200, false),
            (999, 0, 404, false),
        ] {
            let mut shop = Shop::new();
            let order = shop.order();
            let body = ordered(&shop, price, error_in_total);
            assert_eq!(
                shop.ends(&order, status, &body),
                right,
                "{price} {error_in_total} {status}"
            );
        }
    }

    #[test]
    fn a_repeated_order_is_answered_as_the_first_time() {
        let mut shop = Shop::new();
        let order = shop.order();
        let body = ordered(&shop, 999, 0);
        assert!(shop.ends(&order, 201, &body));
        assert!(shop.ends(&priced(1_000), 200, &product(10.0)));
        assert!(shop.ends(&order, 201, &body));
        assert!(!shop.ends(&order, 201, &ordered(&shop, 1_000, 0)));
    }

    #[test]
    fn what_was_deleted_is_not_there() {
        let mut shop = Shop::new();
        let order = shop.order();
        let body = ordered(&shop, 999, 0);
        assert!(shop.ends(&order, 201, &body));
        let Operation::PutOrder { order } = order else { return };
        assert!(shop.ends(&Operation::GetOrder { order }, 200, &body));
        assert!(shop.ends(&Operation::DeleteOrder { order }, 204, &Value::Null));
        assert!(!shop.ends(&Operation::GetOrder { order }, 200, &body));
        assert!(shop.ends(
            &Operation::DeleteProduct { product: 0, category: 0 },
            204,
            &Value::Null
        ));
        assert!(!shop.ends(
            &Operation::GetProduct { product: 0, category: 0 },
            200,
            &product(9.99)
        ));
        assert!(!shop.ends(
            &Operation::DeleteProduct { product: 0, category: 0 },
            204,
            &Value::Null
        ));
    }
}
