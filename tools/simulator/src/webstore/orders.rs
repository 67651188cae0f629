//! Orders. Only the client that created an order repeats or deletes it.

use std::time::Instant;

use serde_json::{Value, json};
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use super::{
    Named, PRODUCTS, WebStore,
    products::{cents, product_id},
};
use crate::{
    api::{Reply, delete, listed, post},
    versions::{Versions, oldest},
    workload::{Operation, verdict},
};

#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) customer: usize,
    lines: Vec<Line>,
    /// The id after it was acknowledged.
    id: Option<String>,
    /// The order as it was acknowledged, while it exists.
    pub(super) shown: Versions<Value>,
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
    fn adds_up(&self, shown: &Value) -> bool {
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
        self.orders.push(Order { customer, lines, id: None, shown: Versions::default() });
        Some(self.orders.len() - 1)
    }

    pub(super) fn put_order(&mut self, client: usize, order: usize) -> Operation<Self> {
        let oldest = oldest(self.max_lag);
        let it = &self.orders[order];
        let customer = Named::Customer(it.customer);
        let customer_exists = self.exist([customer]);
        let call = post(format!("{}/orders", customer.path()), it.body());
        Operation::new(call.key(format!("order-{order}")), move |shop: &mut Self, reply| {
            let is_right = shop.order_was_put(client, order, customer_exists, oldest, reply);
            verdict(is_right, &shop.orders[order])
        })
    }

    fn order_was_put(
        &mut self,
        client: usize,
        number: usize,
        customer_exists: Option<bool>,
        oldest: Instant,
        reply: &Reply,
    ) -> bool {
        let order = &self.orders[number];
        let before = order.shown.now();
        match reply.status {
            // The customer remembers the key of a deleted order for a while.
            409 => order.id.is_some() && before.is_none(),
            404 => {
                // Another client's product may be deleted, or the customer may not exist yet. An
                // existing order is found by its key.
                let may_lack = order.lines.iter().any(|line| !self.is_there(line));
                before.is_none() && (may_lack || customer_exists != Some(true))
            }
            201 => {
                let is_priced = before.is_some()
                    || reply.repeated
                    || self.is_priced(order, oldest, &reply.body);
                // An existing order gets its first answer.
                let is_same = before.is_none_or(|before| *before == reply.body);
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

    /// Returns true if the product of a line is certain to be in the category of the line.
    fn is_there(&self, line: &Line) -> bool {
        line.is_own && self.category_of(line.product) == Some(line.category)
    }

    /// Returns true if each own product has a price that it may have been read with.
    fn is_priced(&self, order: &Order, oldest: Instant, shown: &Value) -> bool {
        order.lines.iter().zip(listed(shown)).filter(|(line, _)| line.is_own).all(|(line, item)| {
            let prices = self.prices_of(line.product, oldest);
            cents(&item["price"]).is_some_and(|price| prices.contains(&price))
        })
    }

    pub(super) fn delete_order(&mut self, order: usize) -> Operation<Self> {
        Operation::new(delete(self.orders[order].path()), move |shop: &mut Self, reply| {
            let state = &mut shop.orders[order];
            // If the store's answer to a delete is lost, the app cannot know that there was no item.
            let is_right = state.shown.was_deleted(reply) || reply.status == 204;
            verdict(is_right, state)
        })
    }

    pub(super) fn get_order(&mut self, order: usize) -> Operation<Self> {
        let oldest = oldest(self.max_lag);
        Operation::new(Call::get(self.orders[order].path()), move |shop: &mut Self, reply| {
            let state = &shop.orders[order];
            let is_right = state.shown.is_shown(oldest, reply, |shown| *shown == reply.body);
            verdict(is_right, state)
        })
    }
}
