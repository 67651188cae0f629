//! The comparison of every query with the model, after quiet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{CUSTOMERS, LABELS, Named, WebStore, operations::product_id};
use crate::{
    api::{Comparison, listed, text},
    bystanders::BYSTANDER,
    workload::CLIENTS,
};

pub(super) async fn check(model: &WebStore, it: &mut Comparison<'_>) {
    let mut check = WebStoreCheck { model, it };
    check.labels("categories", (0..CLIENTS * LABELS).map(Named::Category)).await;
    check.labels("tags", (0..CLIENTS * LABELS).map(Named::Tag)).await;
    check.products().await;
    let counts = check.customers().await;
    check.top_customers(counts).await;
}

struct WebStoreCheck<'a, 'b> {
    model: &'a WebStore,
    it: &'a mut Comparison<'b>,
}

impl<'a> WebStoreCheck<'a, '_> {
    fn name(&self, named: Named) -> Option<&'a str> {
        self.model.named(named).now().map(String::as_str)
    }

    /// Checks that a label or a customer has its last acknowledged name. Returns the item.
    async fn named(&mut self, named: Named) -> Value {
        let shown = self.it.get(&named.path()).await.unwrap_or_default();
        let name = shown[named.field()].as_str();
        self.it.same(&format!("name of {}", named.id()), name, self.name(named));
        shown
    }

    /// Checks that each label has its name, alone and in the list by name.
    async fn labels(&mut self, kind: &str, labels: impl Iterator<Item = Named>) {
        let mut expected = BTreeMap::new();
        for label in labels {
            self.named(label).await;
            expected.extend(self.name(label).map(|name| (label.id(), name)));
        }
        let mut list = self.it.list(&format!("/api/{kind}")).await;
        list.retain(|label| !text(label, "id").starts_with(BYSTANDER));
        let is_sorted = list.is_sorted_by_key(|label| text(label, "name"));
        self.it.is(&format!("{kind} are sorted by name"), is_sorted);
        let shown: BTreeMap<_, _> =
            list.iter().map(|label| (text(label, "id").to_owned(), text(label, "name"))).collect();
        self.it.same(kind, shown, expected);
    }

    /// Checks that each product is in its category and in no other, with its text, price, and the
    /// present names of its category and tags.
    async fn products(&mut self) {
        for category in 0..CLIENTS * LABELS {
            let label = Named::Category(category);
            let Some(name) = self.name(label) else { continue };
            let list = self.it.list(&format!("{}/products", label.path())).await;
            let is_sorted = list.is_sorted_by_key(|product| text(product, "name"));
            self.it.is(&format!("{} is sorted by name", label.id()), is_sorted);
            let mut shown: Vec<_> =
                list.iter().map(|product| text(product, "id").to_owned()).collect();
            shown.sort_unstable();
            let products = (0..self.model.products.len())
                .filter(|product| self.model.category_of(*product) == Some(category));
            let expected: BTreeSet<_> = products.map(product_id).collect();
            let expected: Vec<_> = expected.into_iter().collect();
            self.it.same(&format!("products in {}", label.id()), shown, expected);
            for product in &list {
                self.product(product, name);
            }
        }
    }

    fn product(&mut self, shown: &Value, category: &str) {
        let id = text(shown, "id");
        let number = (0..self.model.products.len()).find(|product| product_id(*product) == id);
        let known = number.and_then(|number| Some((number, self.model.products[number].now()?)));
        let Some((number, expected)) = known else { return };
        if !expected.is_shown(number, shown) {
            self.it.differs(format!("{id}: {shown} instead of {expected:?}"));
        }
        let category_name = text(shown, "categoryName");
        self.it.same(&format!("category's name of {id}"), category_name, category);
        for tag in shown["tags"].as_array().into_iter().flatten() {
            let tag_id = text(tag, "id");
            let label = expected.tags.iter().map(|&tag| Named::Tag(tag));
            let name = label.filter(|label| label.id() == tag_id).find_map(|it| self.name(it));
            self.it.same(&format!("name of {tag_id} in {id}"), tag["name"].as_str(), name);
        }
    }

    /// Checks that each customer has its name, its orders as acknowledged, and their number. Returns the
    /// numbers with the ids.
    async fn customers(&mut self) -> Vec<(u64, String)> {
        let mut counts = Vec::new();
        for number in 0..CLIENTS * CUSTOMERS {
            let customer = Named::Customer(number);
            let shown = self.named(customer).await;
            if self.name(customer).is_none() {
                continue;
            }
            let id = customer.id();
            let list = self.it.list(&format!("{}/orders", customer.path())).await;
            let newest_first =
                list.is_sorted_by(|a, b| text(a, "orderDate") >= text(b, "orderDate"));
            self.it.is(&format!("the orders of {id} are newest first"), newest_first);
            self.it.same(&format!("count of {id}"), &shown["salesOrderCount"], &list.len().into());
            let orders = self.model.orders.iter().filter(|order| order.customer == number);
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
            self.it.same(&format!("orders of {id}"), shown, expected);
            counts.push((list.len() as u64, id));
        }
        counts
    }

    /// Checks that the query and the leaderboard show the same customers in the same order, with their
    /// counts.
    async fn top_customers(&mut self, mut expected: Vec<(u64, String)>) {
        expected.sort_by(|(n, id), (other_n, other)| other_n.cmp(n).then_with(|| id.cmp(other)));
        expected.truncate(100);
        for source in ["query", "leaderboard"] {
            let path = format!("/api/reports/top-customers?limit=100&source={source}");
            let shown = self.it.get(&path).await.unwrap_or_default();
            let row = |item: &Value| {
                let count = item["salesOrderCount"].as_u64().unwrap_or(u64::MAX);
                (count, text(item, "id").to_owned())
            };
            let shown: Vec<_> = listed(&shown).iter().map(row).collect();
            self.it.same(&path, &shown, &expected);
        }
    }
}
