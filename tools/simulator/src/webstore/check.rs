//! The comparison of every query with the model, after quiet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    Label, WebStore,
    labels::LabelKind,
    operation::{customer_id, customer_path, product_id},
};
use crate::{Api, comparison::Comparison, workload::BYSTANDER};

/// Sends every query for all items and returns the differences from the model, a sentence each.
pub(super) async fn check(api: &dyn Api, model: &WebStore) -> Vec<String> {
    let mut check = WebStoreCheck { model, it: Comparison::new(api) };
    for kind in [LabelKind::Category, LabelKind::Tag] {
        check.labels(kind).await;
    }
    check.products().await;
    check.customers().await;
    check.top_customers().await;
    check.it.end()
}

struct WebStoreCheck<'a> {
    model: &'a WebStore,
    it: Comparison<'a>,
}

impl WebStoreCheck<'_> {
    /// Checks that each category and tag has its last acknowledged name, alone and in the list by name.
    async fn labels(&mut self, kind: LabelKind) {
        let all =
            if kind == LabelKind::Category { &self.model.categories } else { &self.model.tags };
        let mut expected = BTreeMap::new();
        for (number, named) in all.iter().enumerate() {
            let label = Label { kind, number };
            let shown = self.it.get(&label.path()).await;
            let name = shown.as_ref().and_then(|shown| shown["name"].as_str());
            self.it.same(&format!("name of {}", label.id()), &name, &named.name.as_deref());
            expected.extend(named.name.clone().map(|name| (label.id(), name)));
        }
        let path = if kind == LabelKind::Category { "/api/categories" } else { "/api/tags" };
        let mut list = self.it.list(path).await;
        list.retain(|label| !text(label, "id").starts_with(BYSTANDER));
        let names: Vec<_> = list.iter().map(|label| text(label, "name")).collect();
        self.is(&format!("{path} is sorted by name"), names.is_sorted());
        let shown: BTreeMap<_, _> = list
            .iter()
            .map(|label| (text(label, "id").to_owned(), text(label, "name").to_owned()))
            .collect();
        self.it.same(path, &shown, &expected);
    }

    /// Checks that each product is in its category and in no other, with its text, price, and the
    /// present names of its category and tags.
    async fn products(&mut self) {
        for (number, category) in self.model.categories.iter().enumerate() {
            let Some(name) = &category.name else { continue };
            let label = Label { kind: LabelKind::Category, number };
            let list = self.it.list(&format!("{}/products", label.path())).await;
            let ids: BTreeSet<_> =
                list.iter().map(|product| text(product, "id").to_owned()).collect();
            self.is(
                &format!("no product is listed twice in {}", label.id()),
                ids.len() == list.len(),
            );
            let names: Vec<_> = list.iter().map(|product| text(product, "name")).collect();
            self.is(&format!("{} is sorted by name", label.id()), names.is_sorted());
            let expected = (0..self.model.products.len())
                .filter(|product| self.model.category_of(*product) == Some(number));
            let expected: BTreeSet<_> = expected.map(product_id).collect();
            self.it.same(&format!("products in {}", label.id()), &ids, &expected);
            for product in &list {
                self.product(product, name);
            }
        }
    }

    fn product(&mut self, shown: &Value, category: &str) {
        let id = text(shown, "id");
        let number = id.strip_prefix('p').and_then(|number| number.parse::<usize>().ok());
        let known = number.and_then(|number| Some((number, self.model.products.get(number)?)));
        let Some((number, text_of)) =
            known.and_then(|(number, product)| Some((number, product.text.as_ref()?)))
        else {
            return;
        };
        if !text_of.is_shown(number, shown) {
            self.it.differs(format!("{id}: {shown} instead of {text_of:?}"));
        }
        self.it.same(&format!("category's name of {id}"), &text(shown, "categoryName"), &category);
        for tag in shown["tags"].as_array().map_or(&[][..], Vec::as_slice) {
            let number = text(tag, "id").strip_prefix("tag-").and_then(|text| text.parse().ok());
            let named = number.and_then(|number: usize| self.model.tags.get(number));
            let name = named.and_then(|named| named.name.as_deref()).unwrap_or_default();
            let what = format!("name of {} in {id}", text(tag, "id"));
            self.it.same(&what, &text(tag, "name"), &name);
        }
    }

    /// Checks that each customer has its name, its orders as acknowledged, and their number.
    async fn customers(&mut self) {
        for (number, customer) in self.model.customers.iter().enumerate() {
            let Some(name) = &customer.name else { continue };
            let id = customer_id(number);
            let path = customer_path(number);
            let shown = self.it.get(&path).await.unwrap_or_default();
            self.it.same(&format!("name of {id}"), &text(&shown, "firstName"), &name.as_str());
            let list = self.it.list(&format!("{path}/orders")).await;
            let dates: Vec<_> = list.iter().map(|order| text(order, "orderDate")).collect();
            self.is(
                &format!("the orders of {id} are newest first"),
                dates.is_sorted_by(|a, b| a >= b),
            );
            self.it.same(&format!("count of {id}"), &shown["salesOrderCount"], &list.len().into());
            let by_id = |orders: &[Value]| -> BTreeMap<String, Value> {
                orders.iter().map(|order| (text(order, "id").to_owned(), order.clone())).collect()
            };
            let orders = self.model.orders.iter().filter(|order| order.customer == number);
            let expected: Vec<_> = orders.filter_map(|order| order.shown.clone()).collect();
            let shown = by_id(&list);
            let expected = by_id(&expected);
            for (order, expected) in &expected {
                self.it.same(&format!("{order} of {id}"), &shown.get(order), &Some(expected));
            }
            for order in shown.keys().filter(|order| !expected.contains_key(*order)) {
                self.it.differs(format!("{order} of {id} was deleted and exists"));
            }
        }
    }

    /// Checks that the query and the leaderboard show the same customers in the same order, with their
    /// counts.
    async fn top_customers(&mut self) {
        let mut expected: Vec<(usize, String)> = Vec::new();
        for (number, customer) in self.model.customers.iter().enumerate() {
            let orders = self.model.orders.iter();
            let count = orders.filter(|it| it.customer == number && it.shown.is_some()).count();
            expected.extend(customer.name.is_some().then(|| (count, customer_id(number))));
        }
        expected.sort_by(|(n, id), (other_n, other)| other_n.cmp(n).then_with(|| id.cmp(other)));
        expected.truncate(100);
        for source in ["query", "leaderboard"] {
            let path = format!("/api/reports/top-customers?limit=100&source={source}");
            let Some(shown) = self.it.get(&path).await else {
                self.it.differs(format!("GET {path} was answered 404"));
                continue;
            };
            let items = shown["items"].as_array().map_or(&[][..], Vec::as_slice);
            let count = |item: &Value| item["salesOrderCount"].as_u64().unwrap_or(u64::MAX);
            let shown: Vec<_> = items
                .iter()
                .map(|item| {
                    (
                        usize::try_from(count(item)).unwrap_or(usize::MAX),
                        text(item, "id").to_owned(),
                    )
                })
                .collect();
            self.it.same(&path, &shown, &expected);
        }
    }

    fn is(&mut self, what: &str, holds: bool) {
        if !holds {
            self.it.differs(format!("it is not true that {what}"));
        }
    }
}

fn text<'a>(item: &'a Value, field: &str) -> &'a str {
    item[field].as_str().unwrap_or_default()
}
