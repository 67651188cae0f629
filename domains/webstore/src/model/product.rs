//! Products, and the tombstones of deleted and of moved ones.

use std::{collections::HashSet, iter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::{
        idempotency::{RecentCommands, RemembersCommands, remembers},
        tombstone,
    },
    values::{self, CommandId, item_types, length_rule},
};

use super::{CategoryId, Label, LabelCopy, LabelKind, Name, Price, ProductId, TagId};

values::checked_text!(
    /// A stock-keeping unit: 1 to 64 characters.
    Sku, "MUG-300", length_rule(1..=64);

    /// A description: at most 10,000 characters.
    Description, "A mug of stoneware for 300 ml.", length_rule(0..=10_000)
);

pub const MAX_TAGS: usize = 50;

/// The most taken-back moves that an item remembers. A slow writer of the outcome of the first one
/// ends within minutes.
const MAX_TAKEN_BACK_MOVES: usize = 8;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ProductItem {
    Product(Box<Product>),
    /// The tombstone of a product that was deleted, or moved out of the category.
    DeletedProduct(DeletedProduct),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    pub version: u64,
    pub created_by: CommandId,
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub recent: RecentCommands,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<ProductDeparture>,
    /// The outcome of the last move to this slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<ProductArrival>,
    /// The ids of the last moves from this slot that were taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_back: Vec<CommandId>,
}

/// The fields of a product that a caller writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductText {
    pub sku: Sku,
    pub name: Name,
    pub description: Option<Description>,
    pub price: Price,
    pub tag_ids: Vec<TagId>,
}

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
    pub tags: Vec<super::PublicLabel>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedProduct {
    pub id: ProductId,
    pub category_id: CategoryId,
    /// One above the version of the product.
    pub version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<CategoryId>,
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    pub recent: RecentCommands,
    /// The outcome of the last move to this slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<ProductArrival>,
    /// The ids of the last moves from this slot that were taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_back: Vec<CommandId>,
    pub ttl: u32,
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

item_types!(ProductItem: Product(Product), DeletedProduct(DeletedProduct));

impl ProductItem {
    pub fn key(&self) -> (&CategoryId, &ProductId, u64) {
        match self {
            Self::Product(product) => (&product.category_id, &product.id, product.version),
            Self::DeletedProduct(it) => (&it.category_id, &it.id, it.version),
        }
    }

    pub fn arrival(&self) -> Option<&ProductArrival> {
        match self {
            Self::Product(product) => product.arrival.as_ref(),
            Self::DeletedProduct(tombstone) => tombstone.arrival.as_ref(),
        }
    }

    /// Returns true if this move from this slot was taken back.
    pub fn has_taken_back(&self, departure: &ProductDeparture) -> bool {
        let taken_back = match self {
            Self::Product(product) => &product.taken_back,
            Self::DeletedProduct(tombstone) => &tombstone.taken_back,
        };
        taken_back.contains(&departure.move_id)
    }
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
        Self {
            id,
            category_id,
            category_name: category.public.name.clone(),
            category_version: category.version,
            sku: text.sku.clone(),
            name: text.name.clone(),
            sort_name: text.name.sort_key(),
            description: text.description.clone(),
            price: text.price,
            tags,
            version: 1,
            created_by: command.clone(),
            recent: RecentCommands::default(),
            departure: None,
            arrival: None,
            taken_back: Vec::new(),
        }
    }

    /// Returns the product in the version after the tombstone that it replaces, with the memory of the
    /// tombstone.
    pub fn replacing(mut self, deleted: &DeletedProduct) -> Self {
        self.version = deleted.version + 1;
        self.recent = deleted.recent.clone();
        self.arrival.clone_from(&deleted.arrival);
        self.taken_back.clone_from(&deleted.taken_back);
        self
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
        let mut product = self.next();
        product.sku.clone_from(&text.sku);
        product.name.clone_from(&text.name);
        product.sort_name = text.name.sort_key();
        product.description.clone_from(&text.description);
        product.price = text.price;
        product.tags = tags;
        product.remembering(command)
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

    /// Returns the tombstone of the product after its deletion by this command.
    pub fn deleted(&self, command: &CommandId) -> DeletedProduct {
        self.tombstone().remembering(command)
    }

    pub fn moved(&self, to: &CategoryId) -> DeletedProduct {
        DeletedProduct { moved_to: Some(to.clone()), ..self.tombstone() }
    }

    fn tombstone(&self) -> DeletedProduct {
        DeletedProduct {
            id: self.id.clone(),
            category_id: self.category_id.clone(),
            version: self.version + 1,
            moved_to: None,
            recent: self.recent.clone(),
            arrival: self.arrival.clone(),
            taken_back: self.taken_back.clone(),
            ttl: tombstone::TTL_SECONDS,
        }
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
        let tags = self
            .tags
            .iter()
            .map(|tag| super::PublicLabel { id: tag.id.clone(), name: tag.name.clone() });
        PublicProduct {
            id: self.id.clone(),
            category_id: self.category_id.clone(),
            category_name: self.category_name.clone(),
            sku: self.sku.clone(),
            name: self.name.clone(),
            description: self.description.clone(),
            price: self.price,
            tags: tags.collect(),
        }
    }

    pub fn arriving(
        &self,
        departure: &ProductDeparture,
        tombstone: Option<&DeletedProduct>,
    ) -> Self {
        let Self { version, .. } = self.next();
        Self {
            category_id: departure.to.clone(),
            category_name: departure.category_name.clone(),
            category_version: departure.category_version,
            version: tombstone.map_or(version, |tombstone| version.max(tombstone.version + 1)),
            departure: None,
            arrival: Some(ProductArrival::new(departure, &self.category_id, true)),
            taken_back: tombstone.map_or(Vec::new(), |tombstone| tombstone.taken_back.clone()),
            ..self.clone()
        }
    }

    /// Returns this product with the refused arrival of another one, whose target slot it has.
    pub fn with_refused_arrival(&self, departure: &ProductDeparture, from: &CategoryId) -> Self {
        Self { arrival: Some(ProductArrival::new(departure, from, false)), ..self.next() }
    }

    fn next(&self) -> Self {
        Self { version: self.version + 1, ..self.clone() }
    }
}

remembers!(DeletedProduct);
remembers!(created_by: Product);

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
