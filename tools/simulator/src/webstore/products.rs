//! Products: each in one category, with its price.

use serde_json::Value;

use super::{
    Label, ProductText, WebStore, WebStoreStart,
    labels::LabelKind,
    operation::{cents, product_id},
};
use crate::{Recent, Reply};

#[derive(Debug, Clone, Default)]
pub(super) struct ProductState {
    pub(super) text: Option<ProductText>,
    former: Recent<Option<ProductText>>,
}

impl ProductText {
    fn labels(&self) -> impl Iterator<Item = Label> {
        let tags = self.tags.iter().map(|&number| Label { kind: LabelKind::Tag, number });
        std::iter::once(Label { kind: LabelKind::Category, number: self.category }).chain(tags)
    }

    /// Returns true if an answer shows this product, with any names.
    pub(super) fn is_shown(&self, product: usize, shown: &Value) -> bool {
        let tags = shown["tags"].as_array().map_or(&[][..], Vec::as_slice);
        let mut tags: Vec<_> = tags.iter().filter_map(|tag| tag["id"].as_str()).collect();
        let mut wanted: Vec<_> = self.labels().skip(1).map(Label::id).collect();
        tags.sort_unstable();
        wanted.sort_unstable();
        shown["id"] == product_id(product)
            && shown["categoryId"]
                == Label { kind: LabelKind::Category, number: self.category }.id()
            && shown["name"] == self.name
            && cents(&shown["price"]) == Some(self.price)
            && tags == wanted
    }
}

impl WebStore {
    /// Returns the category of a product, if the product exists.
    pub(super) fn category_of(&self, product: usize) -> Option<usize> {
        self.products[product].text.as_ref().map(|text| text.category)
    }

    /// Returns the prices that a product may have been read with.
    pub(super) fn prices_of(&self, product: usize, start: &WebStoreStart) -> Vec<u64> {
        let ProductState { text, former } = &self.products[product];
        let texts = text.iter().chain(former.since(start.oldest).flatten());
        texts.map(|text| text.price).collect()
    }

    pub(super) fn product_put(
        &mut self,
        number: usize,
        text: &ProductText,
        start: &WebStoreStart,
        reply: &Reply,
        again: bool,
    ) -> bool {
        if reply.status == 404 {
            // It names a category or a tag that did not exist yet.
            return start.labels_exist != Some(true);
        }
        let product = &mut self.products[number];
        let is_new = product.text.is_none();
        product.former.push(product.text.replace(text.clone()));
        let status = match reply.status {
            201 => is_new,
            200 => !is_new || again,
            _ => false,
        };
        status && text.is_shown(number, &reply.body)
    }

    pub(super) fn product_moved(
        &mut self,
        number: usize,
        to: usize,
        start: &WebStoreStart,
        reply: &Reply,
    ) -> bool {
        if reply.status == 404 {
            return start.labels_exist != Some(true);
        }
        let product = &mut self.products[number];
        let Some(text) = &product.text else { return false };
        let moved = ProductText { category: to, ..text.clone() };
        let right = reply.status == 200 && moved.is_shown(number, &reply.body);
        product.former.push(product.text.replace(moved));
        right
    }

    pub(super) fn product_deleted(&mut self, number: usize, reply: &Reply, again: bool) -> bool {
        let product = &mut self.products[number];
        let text = product.text.take();
        let existed = text.is_some();
        product.former.push(text);
        match reply.status {
            204 => existed,
            404 => !existed || again,
            _ => false,
        }
    }

    /// Returns true if the answer shows the present state of the product in this category, or a recent
    /// one.
    pub(super) fn product_shown(
        &self,
        number: usize,
        category: usize,
        start: &WebStoreStart,
        reply: &Reply,
    ) -> bool {
        let ProductState { text, former } = &self.products[number];
        let shown = |text: &ProductText| {
            text.category == category && reply.status == 200 && text.is_shown(number, &reply.body)
        };
        match text {
            Some(text) if shown(text) => true,
            Some(text) if text.category == category => {
                former.since(start.oldest).flatten().any(shown)
            }
            _ => reply.status == 404 || former.since(start.oldest).flatten().any(shown),
        }
    }

    /// Returns the state of the labels of an operation at its beginning.
    pub(super) fn labels_of(&self, text: &ProductText) -> Option<bool> {
        self.exist(text.labels())
    }
}
