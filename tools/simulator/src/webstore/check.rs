//! The comparison of every query with the model, after quiet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{CUSTOMERS, LABELS, Named, WebStore, operations::product_id};
use crate::{
    api::{Comparison, listed, text},
    copies::SOURCE,
    workload::CLIENTS,
};

impl WebStore {
    fn name(&self, named: Named) -> Option<&str> {
        self.named(named).now().map(String::as_str)
    }

    async fn check_named(&self, it: &mut Comparison<'_>, named: Named) -> Value {
        let shown = it.get(&named.path()).await.unwrap_or_default();
        let name = shown[named.field()].as_str();
        it.same(&format!("name of {}", named.id()), name, self.name(named));
        shown
    }

    pub(super) async fn check_labels(
        &self,
        it: &mut Comparison<'_>,
        kind: &str,
        labels: impl Iterator<Item = Named>,
    ) {
        let mut expected = BTreeMap::new();
        for label in labels {
            self.check_named(it, label).await;
            expected.extend(self.name(label).map(|name| (label.id(), name)));
        }
        let mut list = it.list(&format!("/api/{kind}")).await;
        list.retain(|label| !text(label, "id").starts_with(SOURCE));
        let is_sorted = list.is_sorted_by_key(|label| text(label, "name"));
        it.is(&format!("{kind} are sorted by name"), is_sorted);
        let shown: BTreeMap<_, _> =
            list.iter().map(|label| (text(label, "id").to_owned(), text(label, "name"))).collect();
        it.same(kind, shown, expected);
    }

    /// Checks that each product is in its category and in no other, with its text, price, and the
    /// present names of its category and tags.
    pub(super) async fn check_products(&self, it: &mut Comparison<'_>) {
        for category in 0..CLIENTS * LABELS {
            let label = Named::Category(category);
            let Some(name) = self.name(label) else { continue };
            let list = it.list(&format!("{}/products", label.path())).await;
            let is_sorted = list.is_sorted_by_key(|product| text(product, "name"));
            it.is(&format!("{} is sorted by name", label.id()), is_sorted);
            let mut shown: Vec<_> =
                list.iter().map(|product| text(product, "id").to_owned()).collect();
            shown.sort_unstable();
            let products = (0..self.products.len())
                .filter(|product| self.category_of(*product) == Some(category));
            let expected: BTreeSet<_> = products.map(product_id).collect();
            let expected: Vec<_> = expected.into_iter().collect();
            it.same(&format!("products in {}", label.id()), shown, expected);
            for product in &list {
                self.check_product(it, product, name);
            }
        }
    }

    fn check_product(&self, it: &mut Comparison<'_>, shown: &Value, category: &str) {
        let id = text(shown, "id");
        let number = (0..self.products.len()).find(|product| product_id(*product) == id);
        let known = number.and_then(|number| Some((number, self.products[number].now()?)));
        let Some((number, expected)) = known else { return };
        if !expected.is_shown(number, shown) {
            it.differs(format!("{id}: {shown} instead of {expected:?}"));
        }
        let category_name = text(shown, "categoryName");
        it.same(&format!("category's name of {id}"), category_name, category);
        for tag in shown["tags"].as_array().into_iter().flatten() {
            let tag_id = text(tag, "id");
            let label = expected.tags.iter().map(|&tag| Named::Tag(tag));
            let name = label.filter(|label| label.id() == tag_id).find_map(|it| self.name(it));
            it.same(&format!("name of {tag_id} in {id}"), tag["name"].as_str(), name);
        }
    }

    /// Checks that each customer has its name, its orders as acknowledged, and their number. Returns the
    /// numbers with the ids.
    pub(super) async fn check_customers(&self, it: &mut Comparison<'_>) -> Vec<(u64, String)> {
        let mut counts = Vec::new();
        for number in 0..CLIENTS * CUSTOMERS {
            let customer = Named::Customer(number);
            let shown = self.check_named(it, customer).await;
            if self.name(customer).is_none() {
                continue;
            }
            let id = customer.id();
            let list = it.list(&format!("{}/orders", customer.path())).await;
            let newest_first =
                list.is_sorted_by(|a, b| text(a, "orderDate") >= text(b, "orderDate"));
            it.is(&format!("the orders of {id} are newest first"), newest_first);
            it.same(&format!("count of {id}"), &shown["salesOrderCount"], &list.len().into());
            let orders = self.orders.iter().filter(|order| order.customer == number);
            let expected: BTreeMap<_, _> = orders
                .clone()
                .filter_map(|order| order.shown.now())
                .map(|order| (text(order, "id"), order))
                .collect();
            let mut shown: BTreeMap<_, _> =
                list.iter().map(|order| (text(order, "id"), order)).collect();
            let mut uncertain: Vec<_> = orders.filter(|order| order.may_exist).collect();
            shown.retain(|id, shown| {
                let place = uncertain.iter().position(|order| order.adds_up(shown));
                let place = place.filter(|_| !expected.contains_key(id));
                place.map(|place| uncertain.swap_remove(place)).is_none()
            });
            it.same(&format!("orders of {id}"), shown, expected);
            counts.push((list.len() as u64, id));
        }
        counts
    }

    /// Checks that the query and the leaderboard show the same customers in the same order, with their
    /// counts.
    pub(super) async fn check_top_customers(
        it: &mut Comparison<'_>,
        mut expected: Vec<(u64, String)>,
    ) {
        expected.sort_by(|(n, id), (other_n, other)| other_n.cmp(n).then_with(|| id.cmp(other)));
        expected.truncate(100);
        for source in ["query", "leaderboard"] {
            let path = format!("/api/reports/top-customers?limit=100&source={source}");
            let shown = it.get(&path).await.unwrap_or_default();
            let row = |item: &Value| {
                let count = item["salesOrderCount"].as_u64().unwrap_or(u64::MAX);
                (count, text(item, "id").to_owned())
            };
            let shown: Vec<_> = listed(&shown).iter().map(row).collect();
            it.same(&path, &shown, &expected);
        }
    }
}
