//! Products: each in one category, with its price.

use std::time::Instant;

use serde_json::{Value, json};
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use super::{CLIENTS, LABELS, Named, WebStore};
use crate::{
    api::{delete, post, put},
    versions::oldest,
    workload::{Operation, verdict},
};

/// A product as its client sends it.
#[derive(Clone, Debug)]
pub(super) struct ProductText {
    pub(super) category: usize,
    pub(super) name: String,
    /// In cents.
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

    /// Returns true if an answer shows this product, under any names of its labels.
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
    /// Returns the category of a product, if the product exists.
    pub(super) fn category_of(&self, product: usize) -> Option<usize> {
        self.products[product].now().map(|text| text.category)
    }

    /// Returns the prices that a product may have been read with.
    pub(super) fn prices_of(&self, product: usize, oldest: Instant) -> Vec<u64> {
        self.products[product].since(oldest).flatten().map(|text| text.price).collect()
    }

    pub(super) fn put_product(&mut self, product: usize, text: ProductText) -> Operation<Self> {
        let labels_exist = self.exist(text.labels());
        let call = put(product_path(text.category, product), text.body());
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
        let call = post(format!("{}/move", product_path(from, product)), body);
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

    pub(super) fn delete_product(&mut self, product: usize, category: usize) -> Operation<Self> {
        let call = delete(product_path(category, product));
        Operation::new(call, move |shop: &mut Self, reply| {
            let state = &mut shop.products[product];
            verdict(state.was_deleted(reply), state)
        })
    }

    pub(super) fn get_product(&mut self, product: usize, category: usize) -> Operation<Self> {
        let oldest = oldest(self.max_lag);
        let call = Call::get(product_path(category, product));
        Operation::new(call, move |shop: &mut Self, reply| {
            let state = &shop.products[product];
            let is_right = if reply.status == 404 {
                shop.category_of(product) != Some(category)
            } else {
                state.is_shown(oldest, reply, |text| {
                    text.category == category && text.is_shown(product, &reply.body)
                })
            };
            verdict(is_right, state)
        })
    }
}

/// Returns an amount as JSON.
pub(super) fn money(cents: u64) -> Value {
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

fn product_path(category: usize, product: usize) -> String {
    format!("{}/products/{}", Named::Category(category).path(), product_id(product))
}
