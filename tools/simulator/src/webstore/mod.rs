//! The WebStore: categories, tags, products, customers and orders.
//!
//! Each client has labels (categories and tags), products and customers of its own, which only it
//! changes, so it knows their exact state. But all clients put their products into the categories of
//! all, tag them with the tags of all, and order for the customers of all. So renames meet creations,
//! edits and moves of products that carry the name, and orders of one customer meet each other. Labels
//! and customers are never deleted here.
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
use tributary_local::client::Call;

pub use labels::{Label, LabelKind};
pub use operation::{ProductText, WebStoreOperation, WebStoreSize};

use crate::{Api, Bystanders, Reply, Workload, oldest};
use labels::LabelState;
use orders::{Customer, Order};
use products::ProductState;

/// The reference model of the WebStore.
#[derive(Debug)]
pub struct WebStore {
    size: WebStoreSize,
    /// The longest lag of a read.
    behind: Duration,
    categories: Vec<LabelState>,
    tags: Vec<LabelState>,
    products: Vec<ProductState>,
    customers: Vec<Customer>,
    orders: Vec<Order>,
    orders_of: Vec<Vec<usize>>,
}

/// The state at the beginning of an operation.
#[derive(Debug)]
pub struct WebStoreStart {
    /// The oldest state that a read may see.
    oldest: Instant,
    /// True if the labels of the operation existed: `None` if that is unknown. One that did not exist
    /// may have been created since.
    labels_exist: Option<bool>,
    /// True if its customer existed: `None` if that is unknown.
    customer_exists: Option<bool>,
}

impl WebStore {
    /// Creates an empty shop whose reads lag up to `behind`.
    pub fn new(size: WebStoreSize, behind: Duration) -> Self {
        let WebStoreSize { clients, customers, labels, products } = size;
        Self {
            size,
            behind,
            categories: vec![LabelState::default(); clients * labels],
            tags: vec![LabelState::default(); clients * labels],
            products: vec![ProductState::default(); clients * products],
            customers: vec![Customer::default(); clients * customers],
            orders: Vec::new(),
            orders_of: vec![Vec::new(); clients],
        }
    }
}

impl Workload for WebStore {
    type Operation = WebStoreOperation;
    type Start = WebStoreStart;

    fn clients(&self) -> usize {
        self.size.clients
    }

    fn bystanders(&self, count: usize) -> Bystanders {
        operation::bystanders(count)
    }

    fn next(&mut self, client: usize, random: &mut Random) -> WebStoreOperation {
        WebStoreOperation::random(client, self, random)
    }

    fn begin(&mut self, operation: &WebStoreOperation) -> WebStoreStart {
        match operation {
            WebStoreOperation::PutLabel { label, .. } => self.label_begins(*label),
            WebStoreOperation::PutCustomer { customer, .. } => self.customer_begins(*customer),
            _ => {}
        }
        let labels_exist = match operation {
            WebStoreOperation::PutProduct { text, .. } => self.labels_of(text),
            WebStoreOperation::MoveProduct { to, .. } => {
                self.exist([Label { kind: LabelKind::Category, number: *to }])
            }
            _ => None,
        };
        let customer_exists = match operation {
            WebStoreOperation::PutOrder { order } => {
                self.customer_exists(self.orders[*order].customer)
            }
            _ => None,
        };
        let oldest = oldest(Instant::now(), self.behind);
        WebStoreStart { oldest, labels_exist, customer_exists }
    }

    fn call(&self, operation: &WebStoreOperation) -> Call {
        operation.call(self)
    }

    fn finish(
        &mut self,
        client: usize,
        operation: &WebStoreOperation,
        start: &WebStoreStart,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        match operation {
            WebStoreOperation::PutLabel { label, name } => {
                self.label_put(*label, name, reply, repeated)
            }
            WebStoreOperation::GetLabel { label } => self.label_shown(*label, start, reply),
            WebStoreOperation::PutProduct { product, text } => {
                self.product_put(*product, text, start, reply, repeated)
            }
            WebStoreOperation::MoveProduct { product, to, .. } => {
                self.product_moved(*product, *to, start, reply)
            }
            WebStoreOperation::DeleteProduct { product, .. } => {
                self.product_deleted(*product, reply, repeated)
            }
            WebStoreOperation::GetProduct { product, category } => {
                self.product_shown(*product, *category, start, reply)
            }
            WebStoreOperation::PutCustomer { customer, name } => {
                self.customer_put(*customer, name, reply, repeated)
            }
            WebStoreOperation::GetCustomer { customer } => {
                self.customer_shown(*customer, start, reply)
            }
            WebStoreOperation::PutOrder { order } => {
                self.order_put(client, *order, start, reply, repeated)
            }
            WebStoreOperation::DeleteOrder { order } => self.order_deleted(*order, reply, repeated),
            WebStoreOperation::GetOrder { order } => self.order_shown(*order, start, reply),
        }
    }

    fn known(&self, operation: &WebStoreOperation) -> String {
        match operation {
            WebStoreOperation::PutLabel { label, .. } | WebStoreOperation::GetLabel { label } => {
                format!("{:?}", self.label_state(*label))
            }
            WebStoreOperation::PutProduct { product, .. }
            | WebStoreOperation::MoveProduct { product, .. }
            | WebStoreOperation::DeleteProduct { product, .. }
            | WebStoreOperation::GetProduct { product, .. } => {
                format!("{:?}", self.products[*product])
            }
            WebStoreOperation::PutCustomer { customer, .. }
            | WebStoreOperation::GetCustomer { customer } => {
                format!("{:?}", self.customers[*customer])
            }
            WebStoreOperation::PutOrder { order }
            | WebStoreOperation::DeleteOrder { order }
            | WebStoreOperation::GetOrder { order } => format!("{:?}", self.orders[*order]),
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
        /// Creates one client with a category, a tag, a customer, and a product of 9.99.
        fn new() -> Self {
            let size = WebStoreSize { clients: 1, customers: 1, labels: 1, products: 1 };
            let mut shop = Self(WebStore::new(size, Duration::ZERO));
            for kind in [LabelKind::Category, LabelKind::Tag] {
                let label = Label { kind, number: 0 };
                let named = WebStoreOperation::PutLabel { label, name: "Name".into() };
                assert!(shop.ends(&named, 201, &json!({ "id": label.id(), "name": "Name" })));
            }
            let signed_up = WebStoreOperation::PutCustomer { customer: 0, name: "Ann".into() };
            assert!(shop.ends(&signed_up, 201, &json!({ "firstName": "Ann" })));
            assert!(shop.ends(&priced(999), 201, &product(9.99)));
            shop
        }

        /// Returns true if this is a right answer.
        fn ends(&mut self, operation: &WebStoreOperation, status: u16, body: &Value) -> bool {
            let start = self.0.begin(operation);
            let status = StatusCode::from_u16(status).unwrap();
            let reply = Reply::new(status, &HeaderMap::new(), body.to_string().as_bytes());
            self.0.finish(0, operation, &start, &reply, false)
        }

        /// Returns an order of the product.
        fn order(&mut self) -> WebStoreOperation {
            let mut random = Random::stream(1, 1);
            WebStoreOperation::PutOrder { order: self.0.new_order(0, 0, &mut random).unwrap() }
        }
    }

    fn priced(price: u64) -> WebStoreOperation {
        let text = ProductText { category: 0, name: "Bell".into(), price, tags: vec![0] };
        WebStoreOperation::PutProduct { product: 0, text }
    }

    fn product(price: f64) -> Value {
        json!({ "id": "p0", "categoryId": "category-0", "name": "Bell", "price": price,
                "tags": [{ "id": "tag-0", "name": "Name" }] })
    }

    /// Returns the answer to the last order, with each line at a price in cents.
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
    fn a_repeated_order_gets_the_first_answer() {
        let mut shop = Shop::new();
        let order = shop.order();
        let body = ordered(&shop, 999, 0);
        assert!(shop.ends(&order, 201, &body));
        assert!(shop.ends(&priced(1_000), 200, &product(10.0)));
        assert!(shop.ends(&order, 201, &body));
        assert!(!shop.ends(&order, 201, &ordered(&shop, 1_000, 0)));
    }

    #[test]
    fn a_deleted_product_is_a_404() {
        let mut shop = Shop::new();
        let order = shop.order();
        let body = ordered(&shop, 999, 0);
        assert!(shop.ends(&order, 201, &body));
        let WebStoreOperation::PutOrder { order } = order else { return };
        assert!(shop.ends(&WebStoreOperation::GetOrder { order }, 200, &body));
        assert!(shop.ends(&WebStoreOperation::DeleteOrder { order }, 204, &Value::Null));
        assert!(!shop.ends(&WebStoreOperation::GetOrder { order }, 200, &body));
        assert!(shop.ends(
            &WebStoreOperation::DeleteProduct { product: 0, category: 0 },
            204,
            &Value::Null
        ));
        assert!(!shop.ends(
            &WebStoreOperation::GetProduct { product: 0, category: 0 },
            200,
            &product(9.99)
        ));
        assert!(!shop.ends(
            &WebStoreOperation::DeleteProduct { product: 0, category: 0 },
            204,
            &Value::Null
        ));
    }
}
