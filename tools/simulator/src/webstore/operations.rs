//! Products and orders. Only the client that created an order repeats or deletes it.

use serde_json::{Value, json};
use tributary_local::{chaos::Random, client::Call};

use super::{LABELS, Named, PRODUCTS, WebStore};
use crate::{
    api::{Reply, listed},
    versions::Versions,
    workload::{CLIENTS, Operation, verdict},
};

#[derive(Clone, Debug)]
pub(super) struct ProductText {
    pub(super) category: usize,
    pub(super) name: String,
    pub(super) price: u64,
    pub(super) tags: Vec<usize>,
}

impl ProductText {
    pub(super) fn random(category: usize, number: u64, random: &mut Random) -> Self {
        let mut tags: Vec<_> =
            (0..random.index(4)).map(|_| random.index(CLIENTS * LABELS)).collect();
        tags.sort_unstable();
        tags.dedup();
        Self { category, name: format!("Product {number}"), price: random.below(10_000_000), tags }
    }

    fn body(&self) -> Value {
        let tags: Vec<_> = self.tags.iter().map(|&tag| Named::Tag(tag).id()).collect();
        json!({ "sku": "SKU-1", "name": self.name, "price": money(self.price), "tagIds": tags })
    }

    fn labels(&self) -> impl Iterator<Item = Named> {
        let tags = self.tags.iter().map(|&tag| Named::Tag(tag));
        std::iter::once(Named::Category(self.category)).chain(tags)
    }

    pub(super) fn is_shown(&self, product: usize, shown: &Value) -> bool {
        let tags = shown["tags"].as_array().map_or(&[][..], Vec::as_slice);
        let mut tags: Vec<_> = tags.iter().filter_map(|tag| tag["id"].as_str()).collect();
        let mut wanted: Vec<_> = self.labels().skip(1).map(Named::id).collect();
        tags.sort_unstable();
        wanted.sort_unstable();
        shown["id"] == product_id(product)
            && shown["categoryId"] == Named::Category(self.category).id()
            && shown["name"] == self.name
            && cents(&shown["price"]) == Some(self.price)
            && tags == wanted
    }
}

impl WebStore {
    pub(super) fn category_of(&self, product: usize) -> Option<usize> {
        self.products[product].now().map(|text| text.category)
    }

    pub(super) fn put_product(&mut self, product: usize, text: ProductText) -> Operation<Self> {
        let labels_exist = self.exist(text.labels());
        let call = Call::put(product_path(text.category, product), text.body());
        Operation::new(call, move |shop: &mut Self, reply| {
            let state = &mut shop.products[product];
            let is_right = if reply.status == 404 {
                labels_exist != Some(true)
            } else {
                let shown = text.is_shown(product, &reply.body);
                state.was_put(text, reply) && shown
            };
            verdict(is_right, state)
        })
    }

    pub(super) fn move_product(
        &mut self,
        product: usize,
        from: usize,
        to: usize,
    ) -> Operation<Self> {
        let category_exists = self.exist([Named::Category(to)]);
        let body = json!({ "categoryId": Named::Category(to).id() });
        let call = Call::post(format!("{}/move", product_path(from, product)), body);
        Operation::new(call, move |shop: &mut Self, reply| {
            let state = &mut shop.products[product];
            let moved = state.now().map(|text| ProductText { category: to, ..text.clone() });
            let is_right = match (reply.status, moved) {
                (404, _) => category_exists != Some(true),
                (200, Some(moved)) => {
                    let shown = moved.is_shown(product, &reply.body);
                    state.replace(Some(moved));
                    shown
                }
                _ => false,
            };
            verdict(is_right, state)
        })
    }

    pub(super) fn delete_product(product: usize, category: usize) -> Operation<Self> {
        let call = Call::delete(product_path(category, product));
        Operation::new(call, move |shop: &mut Self, reply| {
            let state = &mut shop.products[product];
            verdict(state.was_deleted(reply), state)
        })
    }

    /// Reads a product of the client in its category, or in any if there is none.
    pub(super) fn get_product(product: usize, category: usize) -> Operation<Self> {
        let is_there = move |text: &ProductText, body: &Value| {
            text.category == category && text.is_shown(product, body)
        };
        let path = product_path(category, product);
        Operation::read(path, move |shop: &Self| &shop.products[product], is_there)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) customer: usize,
    lines: Vec<Line>,
    id: Option<String>,
    /// The order as it was acknowledged, while it exists.
    pub(super) shown: Versions<Value>,
    /// True if it may exist although it was never acknowledged.
    pub(super) may_exist: bool,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    product: usize,
    category: usize,
    quantity: u64,
    /// Only the client of the order changes the product, so it cannot disappear meanwhile.
    is_own: bool,
}

impl Order {
    fn path(&self) -> String {
        let id = self.id.as_deref().unwrap_or("never-acknowledged");
        format!("{}/orders/{id}", Named::Customer(self.customer).path())
    }

    pub(super) fn body(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            let category = Named::Category(line.category).id();
            json!({ "productId": product_id(line.product), "categoryId": category,
                    "quantity": line.quantity })
        });
        json!({ "items": lines.collect::<Vec<_>>() })
    }

    /// Returns true if the answer has the ordered lines, and the total is their sum to the cent.
    pub(super) fn adds_up(&self, shown: &Value) -> bool {
        let items = listed(shown);
        let is_line = |(line, item): (&Line, &Value)| {
            item["productId"] == product_id(line.product) && item["quantity"] == line.quantity
        };
        let sum =
            items.iter().map(|item| Some(cents(&item["price"])? * item["quantity"].as_u64()?));
        items.len() == self.lines.len()
            && self.lines.iter().zip(items).all(is_line)
            && sum.sum::<Option<u64>>() == cents(&shown["total"])
    }
}

impl WebStore {
    /// Returns an order of products that existed a moment ago; `None` if there is none.
    pub(super) fn new_order(
        &mut self,
        client: usize,
        customer: usize,
        random: &mut Random,
    ) -> Option<usize> {
        let mut lines = Vec::new();
        for _ in 0..=random.index(3) {
            let product = random.index(self.products.len());
            if let Some(category) = self.category_of(product) {
                let is_own = product / PRODUCTS == client;
                lines.push(Line { product, category, quantity: 1 + random.below(9), is_own });
            }
        }
        if lines.is_empty() {
            return None;
        }
        let shown = Versions::default();
        self.orders.push(Order { customer, lines, id: None, shown, may_exist: false });
        Some(self.orders.len() - 1)
    }

    pub(super) fn put_order(&mut self, client: usize, order: usize) -> Operation<Self> {
        let it = &self.orders[order];
        let customer = Named::Customer(it.customer);
        let customer_exists = self.exist([customer]);
        let call = Call::post(format!("{}/orders", customer.path()), it.body());
        Operation::new(call.key(format!("order-{order}")), move |shop: &mut Self, reply| {
            let is_right = shop.order_was_put(client, order, customer_exists, reply);
            verdict(is_right, &shop.orders[order])
        })
    }

    fn order_was_put(
        &mut self,
        client: usize,
        number: usize,
        customer_exists: Option<bool>,
        reply: &Reply,
    ) -> bool {
        let order = &self.orders[number];
        let before = order.shown.now().cloned();
        match reply.status {
            // The customer remembers the key of a deleted order for a while.
            409 => order.id.is_some() && before.is_none(),
            404 => {
                // Another client's product may be deleted, or the customer may not exist yet. An
                // existing order is found by its key.
                let may_lack = order.lines.iter().any(|line| !self.is_there(line));
                // The handler of an earlier attempt may be killed, and its write land after this answer.
                self.orders[number].may_exist |= reply.repeated;
                before.is_none() && (may_lack || customer_exists != Some(true))
            }
            201 => {
                let is_priced = before.is_some() || reply.repeated || self.is_priced(order, reply);
                // An existing order gets its first answer.
                let is_same = before.is_none_or(|before| before == reply.body);
                let is_right = is_priced && is_same && order.adds_up(&reply.body);
                let order = &mut self.orders[number];
                if order.id.is_none() {
                    self.orders_of[client].push(number);
                }
                order.id = reply.body["id"].as_str().map(str::to_owned);
                order.shown.replace(Some(reply.body.clone()));
                is_right && order.id.is_some()
            }
            _ => false,
        }
    }

    fn is_there(&self, line: &Line) -> bool {
        line.is_own && self.category_of(line.product) == Some(line.category)
    }

    /// Returns true if each own product has a price that it may have been read with.
    fn is_priced(&self, order: &Order, reply: &Reply) -> bool {
        let lines = order.lines.iter().zip(listed(&reply.body));
        lines.filter(|(line, _)| line.is_own).all(|(line, item)| {
            let mut versions = self.products[line.product].since(reply.oldest).flatten();
            versions.any(|text| cents(&item["price"]) == Some(text.price))
        })
    }

    pub(super) fn delete_order(&mut self, order: usize) -> Operation<Self> {
        Operation::new(Call::delete(self.orders[order].path()), move |shop: &mut Self, reply| {
            let state = &mut shop.orders[order];
            // If the store's answer to a delete is lost, the app cannot know that there was no item.
            let is_right = state.shown.was_deleted(reply) || reply.status == 204;
            verdict(is_right, state)
        })
    }

    pub(super) fn get_order(&mut self, order: usize) -> Operation<Self> {
        let path = self.orders[order].path();
        Operation::read(path, move |shop: &Self| &shop.orders[order].shown, Value::eq)
    }
}

pub(super) fn money(cents: u64) -> Value {
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    serde_json::from_str(&text).unwrap_or_default()
}

pub(super) fn cents(amount: &Value) -> Option<u64> {
    // Far below 2^53 cents, so the nearest whole number is the exact one.
    let cents = (amount.as_f64()? * 100.0).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
    (0.0..1e15).contains(&cents).then_some(cents as u64)
}

pub(super) fn product_id(product: usize) -> String {
    format!("p{product}")
}

fn product_path(category: usize, product: usize) -> String {
    format!("{}/products/{}", Named::Category(category).path(), product_id(product))
}
