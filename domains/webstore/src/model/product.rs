//! Products, and the tombstones of deleted and of moved ones.

use std::{collections::HashSet, iter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::idempotency::RemembersCommands,
    http::from_form,
    projection::{item, items},
    values::{self, CommandId, id_rule, length_rule},
};

use super::{CategoryId, Label, LabelCopy, LabelKind, Name, Price, PublicLabel, TagId};

values::checked_text!(
    /// The id of a product within its category.
    ProductId, "mug", id_rule;

    /// A stock-keeping unit: 1 to 64 characters.
    Sku, "MUG-300", length_rule(1..=64);

    /// A description: at most 10,000 characters.
    Description, "A mug of stoneware for 300 ml.", length_rule(0..=10_000)
);

pub(super) const MAX_TAGS: usize = 50;

/// The most taken-back moves that an item remembers. A slow writer of the outcome of the first one
/// ends within minutes.
const MAX_TAKEN_BACK_MOVES: usize = 8;

#[items(partition_key = "categoryId")]
pub enum ProductItem {
    Product(Box<Product>),
    DeletedProduct(DeletedProduct),
}

#[item(ProductItem, partition = category_id, id = id, version, created_by, tombstone(
    /// Also the tombstone of a product that was moved out of the category.
    struct DeletedProduct {
        id: ProductId,
        category_id: CategoryId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moved_to: Option<CategoryId> = self.departure.as_ref().map(|it| it.to.clone()),
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arrival: Option<ProductArrival>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        taken_back: Vec<CommandId>,
    }
))]
pub struct Product {
    /// Chosen by the caller; unique within the category.
    pub id: ProductId,
    pub category_id: CategoryId,
    pub category_name: Name,
    /// The version of the category from which `categoryName` was copied.
    pub category_version: u64,
    pub sku: Sku,
    pub name: Name,
    /// [`Name::sort_key`] of the name.
    pub sort_name: String,
    pub description: Option<Description>,
    pub price: Price,
    /// The tags, in the order in which the caller named them.
    pub tags: Vec<LabelCopy>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<ProductDeparture>,
    /// The outcome of the last move to this slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<ProductArrival>,
    /// The ids of the last moves from this slot that were taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_back: Vec<CommandId>,
}

from_form!(
    /// The fields of a product that a caller writes.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ProductText {
        pub sku: Sku = text("sku", Sku::parse),
        pub name: Name = text("name", Name::parse),
        pub description: Option<Description> = optional_text("description", Description::parse),
        pub price: Price = number("price", Price::parse),
        pub tag_ids: Vec<TagId> = texts("tagIds", 0..=MAX_TAGS, TagId::parse),
    }
);

/// A product, as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Product")]
pub struct PublicProduct {
    /// The id within the category.
    pub id: ProductId,
    /// The category.
    pub category_id: CategoryId,
    /// The name of the category.
    pub category_name: Name,
    /// The stock-keeping unit.
    pub sku: Sku,
    /// The name of the product.
    pub name: Name,
    /// The description.
    pub description: Option<Description>,
    /// The price.
    pub price: Price,
    /// The tags.
    pub tags: Vec<PublicLabel>,
}

/// A move that has begun: the product waits in its old category until it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductDeparture {
    /// The id of this move, used once.
    pub move_id: CommandId,
    pub to: CategoryId,
    pub category_name: Name,
    /// The version of the new category from which its name was copied.
    pub category_version: u64,
}

/// The outcome of a move, stored on the item in its target slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductArrival {
    pub move_id: CommandId,
    pub from: CategoryId,
    /// True if the product has arrived; false if the slot had another product.
    pub accepted: bool,
}

impl Product {
    /// Creates a product; `tags` are the copies of the tags in `text`.
    pub fn new(
        id: ProductId,
        category_id: CategoryId,
        category: &Label,
        text: &ProductText,
        tags: Vec<LabelCopy>,
        command: &CommandId,
    ) -> Self {
        Self::first(
            id,
            category_id,
            category.public.name.clone(),
            category.version,
            text.sku.clone(),
            text.name.clone(),
            text.name.sort_key(),
            text.description.clone(),
            text.price,
            tags,
            None,
            None,
            Vec::new(),
            command,
        )
    }

    /// Returns the product in the place of a tombstone, whose moves it remembers, too.
    pub fn over(self, tombstone: Option<&DeletedProduct>) -> Self {
        let product = self.replacing(tombstone);
        let Some(DeletedProduct { arrival, taken_back, .. }) = tombstone.cloned() else {
            return product;
        };
        Self { arrival, taken_back, ..product }
    }

    /// Returns true if the product has these fields already.
    pub fn has_text(&self, text: &ProductText) -> bool {
        let tags = self.tags.iter().map(|tag| tag.id.as_str());
        self.sku == text.sku
            && self.name == text.name
            && self.description == text.description
            && self.price == text.price
            && tags.eq(text.tag_ids.iter().map(TagId::as_str))
    }

    /// Returns the product after an edit; `tags` are the copies of the tags in `text`.
    pub fn edited(&self, text: &ProductText, tags: Vec<LabelCopy>, command: &CommandId) -> Self {
        let ProductText { sku, name, description, price, .. } = text.clone();
        let sort_name = name.sort_key();
        Self { sku, name, sort_name, description, price, tags, ..self.next() }.remembering(command)
    }

    /// Returns the product with the newer name of a label; `None` if the product has that name or a
    /// newer one, or does not have the label.
    pub fn with_newer_label(&self, label: &Label) -> Option<Self> {
        self.with_copy(label, |copy| copy.version < label.version)
    }

    /// Returns the product with the name of a label; `None` if its copy is equal to the label, or the
    /// product does not have the label.
    pub fn with_label(&self, label: &Label) -> Option<Self> {
        self.with_copy(label, |copy| *copy != label.copy())
    }

    fn with_copy(&self, label: &Label, is_due: impl Fn(&LabelCopy) -> bool) -> Option<Self> {
        let is_due = |copy: &LabelCopy| copy.id == label.public.id && is_due(copy);
        let mut product = self.next();
        match label.kind {
            LabelKind::Category if is_due(&self.category()) => {
                product.category_name = label.public.name.clone();
                product.category_version = label.version;
            }
            LabelKind::Category => return None,
            LabelKind::Tag => {
                let copy = product.tags.iter_mut().find(|copy| is_due(copy))?;
                *copy = label.copy();
            }
        }
        Some(product)
    }

    pub fn category(&self) -> LabelCopy {
        LabelCopy {
            id: self.category_id.to_string(),
            name: self.category_name.clone(),
            version: self.category_version,
        }
    }

    /// Returns the copies of the product's labels: its category, then its tags.
    pub fn labels(&self) -> impl Iterator<Item = (LabelKind, LabelCopy)> {
        let tags = self.tags.iter().map(|tag| (LabelKind::Tag, tag.clone()));
        iter::once((LabelKind::Category, self.category())).chain(tags)
    }

    /// Returns the product with the departure of a move that begins, or without one after a refusal.
    pub fn with_departure(&self, departure: Option<ProductDeparture>) -> Self {
        Self { departure, ..self.next() }
    }

    /// Returns the product without its departure, which remembers that this move was taken back.
    pub fn taking_back(&self, departure: &ProductDeparture) -> Self {
        let mut product = self.with_departure(None);
        product.taken_back.push(departure.move_id.clone());
        let too_many = product.taken_back.len().saturating_sub(MAX_TAKEN_BACK_MOVES);
        product.taken_back.drain(..too_many);
        product
    }

    pub fn public(&self) -> PublicProduct {
        let Self { id, category_id, category_name, sku, name, description, price, tags, .. } =
            self.clone();
        let tags = tags.into_iter().map(|LabelCopy { id, name, .. }| PublicLabel { id, name });
        let tags = tags.collect();
        PublicProduct { id, category_id, category_name, sku, name, description, price, tags }
    }

    pub fn arriving(
        &self,
        departure: &ProductDeparture,
        tombstone: Option<&DeletedProduct>,
    ) -> Self {
        let next = self.next();
        Self {
            category_id: departure.to.clone(),
            category_name: departure.category_name.clone(),
            category_version: departure.category_version,
            version: tombstone.map_or(0, |it| it.version + 1).max(next.version),
            departure: None,
            arrival: Some(ProductArrival::new(departure, &self.category_id, true)),
            taken_back: tombstone.map_or(Vec::new(), |it| it.taken_back.clone()),
            ..next
        }
    }

    /// Returns this product with the refused arrival of another one, whose target slot it has.
    pub fn with_refused_arrival(&self, departure: &ProductDeparture, from: &CategoryId) -> Self {
        Self { arrival: Some(ProductArrival::new(departure, from, false)), ..self.next() }
    }
}

impl ProductDeparture {
    pub fn new(to: &CategoryId, category: &Label) -> Self {
        Self {
            move_id: CommandId::fresh(),
            to: to.clone(),
            category_name: category.public.name.clone(),
            category_version: category.version,
        }
    }
}

impl ProductArrival {
    fn new(departure: &ProductDeparture, from: &CategoryId, accepted: bool) -> Self {
        Self { move_id: departure.move_id.clone(), from: from.clone(), accepted }
    }
}

impl ProductText {
    /// Removes repeated tags.
    pub fn each_tag_once(mut self) -> Self {
        let mut seen = HashSet::new();
        self.tag_ids.retain(|id| seen.insert(id.clone()));
        self
    }
}
