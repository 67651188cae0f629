//! The WebStore: categories, tags, products, customers and orders.
//!
//! Each client has labels (categories and tags), products and customers of its own, so it knows their exact state. But
//! all clients put their products into the categories of all, tag them with the tags of all, and order for the customers
//! of all. Labels and customers are never deleted here. An order may name another client's product, which may have moved
//! meanwhile: then 404 is right.

mod check;
mod operations;
mod sources;

use std::collections::HashMap;

use serde_json::{Value, json};
use tributary_local::{chaos::Random, client::Call};

use crate::{
    api::Comparison,
    copies::ManyCopies,
    versions::Versions,
    workload::{CLIENTS, Operation, Workload, verdict},
};
use operations::{Order, ProductText};

const CUSTOMERS: usize = 3;
const LABELS: usize = 3;
const PRODUCTS: usize = 20;

#[derive(Debug)]
pub(crate) struct WebStore {
    names: HashMap<Named, Versions<String>>,
    products: Vec<Versions<ProductText>>,
    orders: Vec<Order>,
    orders_of: Vec<Vec<usize>>,
}

/// An item that has a name and is never deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Named {
    Category(usize),
    Tag(usize),
    Customer(usize),
}

impl Named {
    fn parts(self) -> (&'static str, &'static str, usize) {
        match self {
            Self::Category(number) => ("categories", "category-", number),
            Self::Tag(number) => ("tags", "tag-", number),
            Self::Customer(number) => ("customers", "c", number),
        }
    }

    fn id(self) -> String {
        let (_, prefix, number) = self.parts();
        format!("{prefix}{number}")
    }

    fn path(self) -> String {
        format!("/api/{}/{}", self.parts().0, self.id())
    }

    fn field(self) -> &'static str {
        if matches!(self, Self::Customer(_)) { "firstName" } else { "name" }
    }

    fn body(self, name: &str) -> Value {
        match self {
            Self::Category(_) | Self::Tag(_) => json!({ "name": name }),
            Self::Customer(_) => json!({
                "firstName": name, "lastName": "Customer", "emailAddress": "someone@example.com",
                "addresses": [],
            }),
        }
    }
}

impl WebStore {
    pub(crate) fn new() -> Self {
        let labels = (0..CLIENTS * LABELS).flat_map(|n| [Named::Category(n), Named::Tag(n)]);
        let all = labels.chain((0..CLIENTS * CUSTOMERS).map(Named::Customer));
        Self {
            names: all.map(|named| (named, Versions::default())).collect(),
            products: vec![Versions::default(); CLIENTS * PRODUCTS],
            orders: Vec::new(),
            orders_of: vec![Vec::new(); CLIENTS],
        }
    }

    fn named(&self, named: Named) -> &Versions<String> {
        &self.names[&named]
    }

    fn named_mut(&mut self, named: Named) -> &mut Versions<String> {
        self.names.entry(named).or_default()
    }

    /// Returns true if all exist: `None` if that is unknown.
    fn exist(&self, all: impl IntoIterator<Item = Named>) -> Option<bool> {
        let exist: Vec<_> = all.into_iter().map(|named| self.named(named).exists()).collect();
        if exist.contains(&Some(false)) {
            return Some(false);
        }
        (!exist.contains(&None)).then_some(true)
    }

    fn put_named(&mut self, named: Named, name: String) -> Operation<Self> {
        self.named_mut(named).begin();
        let call = Call::put(named.path(), named.body(&name));
        Operation::new(call, move |shop: &mut Self, reply| {
            let shown = reply.body[named.field()] == *name && reply.body["id"] == named.id();
            let state = shop.named_mut(named);
            verdict(state.was_put(name, reply) && shown, state)
        })
    }

    fn get_named(named: Named) -> Operation<Self> {
        let is_name = move |name: &String, body: &Value| body[named.field()] == **name;
        Operation::read(named.path(), move |shop: &Self| shop.named(named), is_name)
    }
}

impl Workload for WebStore {
    const PROJECTIONS: &'static [&'static str] =
        &["LabelNames", "Leaderboard", "ProductsIntegrity"];

    fn many_copies(count: usize) -> Option<ManyCopies> {
        Some(sources::many_copies(count))
    }

    fn next(&mut self, client: usize, random: &mut Random) -> Operation<Self> {
        let own = |each: usize, random: &mut Random| client * each + random.index(each);
        let label = own(LABELS, random);
        let label = if random.chance(0.5) { Named::Category(label) } else { Named::Tag(label) };
        let own_customer = Named::Customer(own(CUSTOMERS, random));
        let customer = random.index(CLIENTS * CUSTOMERS);
        let product = own(PRODUCTS, random);
        let category = random.index(CLIENTS * LABELS);
        let at = self.category_of(product);
        let own_orders = &self.orders_of[client];
        let order = own_orders.get(random.index(own_orders.len())).copied();
        let number = random.below(1_000_000);
        // Products, orders and their prices need the items that they name.
        if self.named(label).now().is_none() {
            return self.put_named(label, format!("Label {number}"));
        }
        match (random.below(100), at, order) {
            (0..12, ..) => self.put_named(label, format!("Label {number}")),
            (12..15, ..) => Self::get_named(label),
            (15..40, ..) => {
                let text = ProductText::random(at.unwrap_or(category), number, random);
                self.put_product(product, text)
            }
            (40..48, Some(from), _) => self.move_product(product, from, category),
            (48..52, ..) => Self::delete_product(product, at.unwrap_or(category)),
            (40..56, ..) => Self::get_product(product, at.unwrap_or(category)),
            (56..62, ..) => self.put_named(own_customer, format!("Name {number}")),
            (66..84, ..) => match self.new_order(client, customer, random) {
                Some(order) => self.put_order(client, order),
                None => Self::get_named(own_customer),
            },
            (84..93, _, Some(order)) => self.delete_order(order),
            (93..96, _, Some(order)) => self.put_order(client, order),
            (96.., _, Some(order)) => self.get_order(order),
            _ => Self::get_named(own_customer),
        }
    }

    async fn check(&self, it: &mut Comparison<'_>) {
        self.check_labels(it, "categories", (0..CLIENTS * LABELS).map(Named::Category)).await;
        self.check_labels(it, "tags", (0..CLIENTS * LABELS).map(Named::Tag)).await;
        self.check_products(it).await;
        let counts = self.check_customers(it).await;
        Self::check_top_customers(it, counts).await;
    }
}
