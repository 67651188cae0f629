//! Customers and their orders.

use serde_json::{Value, json};
use tributary_local::chaos::Random;

use super::{
    Label, WebStore, WebStoreStart,
    labels::LabelKind,
    operation::{cents, customer_path, product_id},
};
use crate::{Recent, Reply};

#[derive(Debug, Clone, Default)]
pub(super) struct Customer {
    /// The first name after it was acknowledged.
    pub(super) name: Option<String>,
    former: Recent<Option<String>>,
    begun: bool,
}

/// An order. Only the client that created it repeats or deletes it.
#[derive(Debug, Clone)]
pub(super) struct Order {
    pub(super) customer: usize,
    lines: Vec<Line>,
    /// The id after it was acknowledged.
    pub(super) id: Option<String>,
    /// The order as it was acknowledged, while it exists.
    pub(super) shown: Option<Value>,
    former: Recent<Option<Value>>,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    product: usize,
    category: usize,
    quantity: u64,
    /// Only the client of the order changes the product, so it cannot disappear meanwhile.
    is_own: bool,
}

impl Order {
    pub(super) fn path(&self) -> String {
        let id = self.id.as_deref().unwrap_or("never-acknowledged");
        format!("{}/orders/{id}", customer_path(self.customer))
    }

    pub(super) fn body(&self) -> Value {
        let lines = self.lines.iter().map(|line| {
            let category = Label { kind: LabelKind::Category, number: line.category };
            json!({ "productId": product_id(line.product), "categoryId": category.id(),
                    "quantity": line.quantity })
        });
        json!({ "items": lines.collect::<Vec<_>>() })
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
                let is_own = product / self.size.products == client;
                lines.push(Line { product, category, quantity: 1 + random.below(9), is_own });
            }
        }
        if lines.is_empty() {
            return None;
        }
        let shown = None;
        let former = Recent::default();
        self.orders.push(Order { customer, lines, id: None, shown, former });
        Some(self.orders.len() - 1)
    }

    pub(super) fn own_order(&self, client: usize, random: &mut Random) -> Option<usize> {
        let own = &self.orders_of[client];
        own.get(random.index(own.len())).copied()
    }

    pub(super) fn customer_begins(&mut self, customer: usize) {
        self.customers[customer].begun = true;
    }

    /// Returns true if a customer exists: `None` if that is unknown. No customer is ever deleted.
    pub(super) fn customer_exists(&self, customer: usize) -> Option<bool> {
        match &self.customers[customer] {
            Customer { name: Some(_), .. } => Some(true),
            Customer { begun: true, .. } => None,
            Customer { .. } => Some(false),
        }
    }

    pub(super) fn customer_put(
        &mut self,
        number: usize,
        name: &str,
        reply: &Reply,
        again: bool,
    ) -> bool {
        let customer = &mut self.customers[number];
        let is_new = customer.name.is_none();
        customer.former.push(customer.name.replace(name.to_owned()));
        let status = match reply.status {
            201 => is_new,
            200 => !is_new || again,
            _ => false,
        };
        status && reply.body["firstName"] == name
    }

    pub(super) fn customer_shown(
        &self,
        number: usize,
        start: &WebStoreStart,
        reply: &Reply,
    ) -> bool {
        let Customer { name, former, .. } = &self.customers[number];
        let shown = |name: &Option<String>| match name {
            Some(name) => reply.status == 200 && reply.body["firstName"] == **name,
            None => reply.status == 404,
        };
        let mut former = former.since(start.oldest).filter(|name| name.is_some());
        shown(name) || former.any(shown)
    }

    pub(super) fn order_put(
        &mut self,
        client: usize,
        number: usize,
        start: &WebStoreStart,
        reply: &Reply,
        again: bool,
    ) -> bool {
        let order = &self.orders[number];
        if reply.status == 409 {
            // The customer remembers the key of a deleted order for a while.
            return order.id.is_some() && order.shown.is_none();
        }
        if reply.status != 201 {
            // Another client's product may be deleted, or the customer may not exist yet. An existing
            // order is found by its key.
            let may_lack = order.lines.iter().any(|line| !self.is_there(line));
            let may_be_known = order.shown.is_some();
            return reply.status == 404
                && !may_be_known
                && (may_lack || start.customer_exists != Some(true));
        }
        let prices = order.shown.is_some() || again || self.are_priced(order, start, &reply.body);
        let right = prices && adds_up(order, &reply.body);
        let order = &mut self.orders[number];
        // An existing order gets its first answer.
        let same = order.shown.as_ref().is_none_or(|shown| *shown == reply.body);
        let is_first = order.id.is_none();
        order.id = reply.body["id"].as_str().map(str::to_owned);
        order.former.push(order.shown.replace(reply.body.clone()));
        if is_first {
            self.orders_of[client].push(number);
        }
        right && same && self.orders[number].id.is_some()
    }

    /// Returns true if the product of a line is certain to be in the category of the line.
    fn is_there(&self, line: &Line) -> bool {
        line.is_own && self.category_of(line.product) == Some(line.category)
    }

    /// Returns true if each own product has a price that it may have been read with.
    fn are_priced(&self, order: &Order, start: &WebStoreStart, shown: &Value) -> bool {
        let items = shown["items"].as_array().map_or(&[][..], Vec::as_slice);
        order.lines.iter().zip(items).filter(|(line, _)| line.is_own).all(|(line, item)| {
            let prices = self.prices_of(line.product, start);
            cents(&item["price"]).is_some_and(|price| prices.contains(&price))
        })
    }

    pub(super) fn order_deleted(&mut self, number: usize, reply: &Reply, again: bool) -> bool {
        let order = &mut self.orders[number];
        let shown = order.shown.take();
        let existed = shown.is_some();
        order.former.push(shown);
        match reply.status {
            // If the store's answer to a delete is lost, the app cannot know that there was no item.
            204 => true,
            404 => !existed || again,
            _ => false,
        }
    }

    pub(super) fn order_shown(&self, number: usize, start: &WebStoreStart, reply: &Reply) -> bool {
        let Order { shown, former, .. } = &self.orders[number];
        let is_shown = |shown: &Value| reply.status == 200 && reply.body == *shown;
        match shown {
            Some(shown) => is_shown(shown),
            None => reply.status == 404 || former.since(start.oldest).flatten().any(is_shown),
        }
    }
}

/// Returns true if the answer has the ordered lines, and the total is their sum to the cent.
fn adds_up(order: &Order, shown: &Value) -> bool {
    let items = shown["items"].as_array().map_or(&[][..], Vec::as_slice);
    let is_line = |(line, item): (&Line, &Value)| {
        item["productId"] == product_id(line.product) && item["quantity"] == line.quantity
    };
    let sum = items.iter().map(|item| Some(cents(&item["price"])? * item["quantity"].as_u64()?));
    items.len() == order.lines.len()
        && order.lines.iter().zip(items).all(is_line)
        && sum.sum::<Option<u64>>() == cents(&shown["total"])
}
