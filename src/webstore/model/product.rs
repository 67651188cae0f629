//! Products, and the tombstone that a deleted or moved one leaves.

use std::{collections::HashSet, iter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{
    engines::idempotency::{Recent, remembers},
    values::{self, CommandId, Timestamp, check_length},
};

use super::{
    CategoryId, Label, LabelCopy, LabelKind, Name, Price, ProductId, TOMBSTONE_TTL_SECONDS, TagId,
};

values::checked_text!(
    /// A stock-keeping unit: 1 to 64 characters.
    Sku,
    "MUG-300",
    |text| check_length(&text, 1, 64).map(|()| text)
);

values::checked_text!(
    /// A description: at most 10,000 characters.
    Description,
    "A mug of stoneware for 300 ml.",
    |text| check_length(&text, 0, 10_000).map(|()| text)
);

/// The most tags of a product.
pub const MAX_TAGS: usize = 50;

/// The most bytes that JSON takes for one character: a control character is `\u0000`.
const CHARACTER: usize = 6;
const ID: usize = 128;
const NAME: usize = 200 * CHARACTER;
/// Names of fields, numbers, punctuation.
const REST: usize = 256;

/// The most bytes of a category or a tag as JSON.
pub const LABEL_BYTES: usize = ID + NAME + REST;

/// The most bytes of a product as JSON.
pub const PRODUCT_BYTES: usize =
    2 * ID + 2 * NAME + (64 + 10_000) * CHARACTER + MAX_TAGS * (ID + NAME + 32) + REST;

/// How many moves that were taken back a place remembers. What a slow writer of the first outcome
/// does ends within minutes.
const MAX_TAKEN_BACK: usize = 8;

/// The items of the container `product`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ProductItem {
    /// A product.
    Product(Box<Product>),
    /// The tombstone that a product leaves in its category when it is deleted or moved.
    DeletedProduct(DeletedProduct),
}

/// A product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Product {
    /// Chosen by the caller; unique within the category.
    pub id: ProductId,
    /// The partition key.
    pub category_id: CategoryId,
    /// The name of the category.
    pub category_name: Name,
    /// The version of the category that `categoryName` was taken from.
    pub category_version: u64,
    /// The stock-keeping unit.
    pub sku: Sku,
    /// The name of the product.
    pub name: Name,
    /// [`Name::sort_key`] of the name.
    pub sort_name: String,
    /// The description.
    pub description: Option<Description>,
    /// The price.
    pub price: Price,
    /// The tags, in the order in which the caller named them.
    pub tags: Vec<LabelCopy>,
    /// Raised by each write.
    pub version: u64,
    /// The command that created the product in this category.
    pub created_by: CommandId,
    /// The commands that were lately carried out on the product.
    #[serde(default, skip_serializing_if = "Recent::is_empty")]
    pub recent: Recent,
    /// The move to another category that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub departure: Option<Departure>,
    /// The last move to this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    /// The ids of the last moves from this place that were taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_back: Vec<CommandId>,
}

/// What a caller writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductText {
    /// The stock-keeping unit.
    pub sku: Sku,
    /// The name of the product.
    pub name: Name,
    /// The description.
    pub description: Option<Description>,
    /// The price.
    pub price: Price,
    /// The tags, each once.
    pub tag_ids: Vec<TagId>,
}

/// What the API shows of a product.
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

/// The tombstone of a product.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedProduct {
    /// The id of the product.
    pub id: ProductId,
    /// The partition key.
    pub category_id: CategoryId,
    /// One above the version of the product.
    pub version: u64,
    /// The category that the product has moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<CategoryId>,
    /// The commands that were lately carried out on the product.
    #[serde(default, skip_serializing_if = "Recent::is_empty")]
    pub recent: Recent,
    /// The last move to this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<Arrival>,
    /// The ids of the last moves from this place that were taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_back: Vec<CommandId>,
    /// Seconds until the tombstone goes away.
    pub ttl: u32,
}

/// A move that has begun: the product waits in its old category until it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Departure {
    /// The id of this move, which no other has.
    pub move_id: CommandId,
    /// The new category.
    pub to: CategoryId,
    /// The name of the new category.
    pub category_name: Name,
    /// The version of the new category that its name was taken from.
    pub category_version: u64,
}

/// The outcome of a move, written down at its target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arrival {
    /// The id of the move.
    pub move_id: CommandId,
    /// The category that the product came from.
    pub from: CategoryId,
    /// Whether the product has arrived, or was refused since the place was taken.
    pub accepted: bool,
}

impl ProductItem {
    /// The product, unless this is a tombstone.
    pub fn live(self) -> Option<Product> {
        match self {
            Self::Product(product) => Some(*product),
            Self::DeletedProduct(_) => None,
        }
    }

    /// Category, id and version of the product.
    pub fn key(&self) -> (&CategoryId, &ProductId, u64) {
        match self {
            Self::Product(product) => (&product.category_id, &product.id, product.version),
            Self::DeletedProduct(it) => (&it.category_id, &it.id, it.version),
        }
    }

    /// The last move to this place.
    pub fn arrival(&self) -> Option<&Arrival> {
        match self {
            Self::Product(product) => product.arrival.as_ref(),
            Self::DeletedProduct(tombstone) => tombstone.arrival.as_ref(),
        }
    }

    /// Returns true if this move from this place was taken back.
    pub fn has_taken_back(&self, departure: &Departure) -> bool {
        let taken_back = match self {
            Self::Product(product) => &product.taken_back,
            Self::DeletedProduct(tombstone) => &tombstone.taken_back,
        };
        taken_back.contains(&departure.move_id)
    }
}

impl From<Product> for ProductItem {
    fn from(product: Product) -> Self {
        Self::Product(Box::new(product))
    }
}

impl Product {
    /// A new product; `tags` are those that the text names.
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
            recent: Recent::default(),
            departure: None,
            arrival: None,
            taken_back: Vec::new(),
        }
    }

    /// Returns the product in the place of a deleted one.
    pub fn following(mut self, deleted: &DeletedProduct) -> Self {
        self.version = deleted.version + 1;
        self.recent = deleted.recent.clone();
        self.arrival.clone_from(&deleted.arrival);
        self.taken_back.clone_from(&deleted.taken_back);
        self
    }

    /// Returns true if the product is as the text says.
    pub fn has(&self, text: &ProductText) -> bool {
        let tags = self.tags.iter().map(|tag| tag.id.as_str());
        self.sku == text.sku
            && self.name == text.name
            && self.description == text.description
            && self.price == text.price
            && tags.eq(text.tag_ids.iter().map(TagId::as_str))
    }

    /// Returns the product after an edit; `tags` are those that the text names.
    pub fn edited(&self, text: &ProductText, tags: Vec<LabelCopy>, command: &CommandId) -> Self {
        let mut product = self.next();
        product.sku.clone_from(&text.sku);
        product.name.clone_from(&text.name);
        product.sort_name = text.name.sort_key();
        product.description.clone_from(&text.description);
        product.price = text.price;
        product.tags = tags;
        product.recent.remember([command.clone()], Timestamp::now());
        product
    }

    /// Returns the product with the newer name of its category or of a tag; `None` where it has that
    /// name or a newer one, or is not of that label.
    pub fn relabelled(&self, label: &Label) -> Option<Self> {
        self.with_copy(label, |copy| copy.version < label.version)
    }

    /// Returns the product with the name of its category or of a tag, whatever its copy says; `None`
    /// where the copy is true, or the product is not of that label.
    pub fn named_after(&self, label: &Label) -> Option<Self> {
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

    /// What the product keeps of its category.
    pub fn category(&self) -> LabelCopy {
        LabelCopy {
            id: self.category_id.to_string(),
            name: self.category_name.clone(),
            version: self.category_version,
        }
    }

    /// What the product keeps of its category and of its tags.
    pub fn labels(&self) -> impl Iterator<Item = (LabelKind, LabelCopy)> {
        let tags = self.tags.iter().map(|tag| (LabelKind::Tag, tag.clone()));
        iter::once((LabelKind::Category, self.category())).chain(tags)
    }

    /// Returns the tombstone that the product leaves when a command deletes it.
    pub fn deleted(&self, command: &CommandId) -> DeletedProduct {
        let mut tombstone = self.tombstone();
        tombstone.recent.remember([command.clone()], Timestamp::now());
        tombstone
    }

    /// Returns the tombstone that the product leaves when it has moved to another category.
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
            ttl: TOMBSTONE_TTL_SECONDS,
        }
    }

    /// Returns the product that waits for a move to end, or whose move was refused.
    pub fn with_departure(&self, departure: Option<Departure>) -> Self {
        Self { departure, ..self.next() }
    }

    /// Returns the product that stays, since the move cannot end.
    pub fn taking_back(&self, departure: &Departure) -> Self {
        let mut product = self.with_departure(None);
        product.taken_back.push(departure.move_id.clone());
        let too_many = product.taken_back.len().saturating_sub(MAX_TAKEN_BACK);
        product.taken_back.drain(..too_many);
        product
    }

    /// What the API shows.
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

    /// Returns the product as it arrives in its new category, in the place of `tombstone` if there is
    /// one.
    pub fn arriving(&self, departure: &Departure, tombstone: Option<&DeletedProduct>) -> Self {
        let Self { version, .. } = self.next();
        Self {
            category_id: departure.to.clone(),
            category_name: departure.category_name.clone(),
            category_version: departure.category_version,
            version: tombstone.map_or(version, |tombstone| version.max(tombstone.version + 1)),
            departure: None,
            arrival: Some(Arrival::new(departure, &self.category_id, true)),
            taken_back: tombstone.map_or(Vec::new(), |tombstone| tombstone.taken_back.clone()),
            ..self.clone()
        }
    }

    /// Returns the product that stands in the place where another wanted to move.
    pub fn refusing(&self, departure: &Departure, from: &CategoryId) -> Self {
        Self { arrival: Some(Arrival::new(departure, from, false)), ..self.next() }
    }

    fn next(&self) -> Self {
        Self { version: self.version + 1, ..self.clone() }
    }
}

remembers!(DeletedProduct);
remembers!(created_by: Product);

impl Departure {
    /// Begins a move to a category.
    pub fn new(to: &CategoryId, category: &Label) -> Self {
        Self {
            move_id: CommandId::fresh(),
            to: to.clone(),
            category_name: category.public.name.clone(),
            category_version: category.version,
        }
    }
}

impl Arrival {
    fn new(departure: &Departure, from: &CategoryId, accepted: bool) -> Self {
        Self { move_id: departure.move_id.clone(), from: from.clone(), accepted }
    }
}

impl ProductText {
    /// Leaves out tags that were named before.
    pub fn each_tag_once(mut self) -> Self {
        let mut seen = HashSet::new();
        self.tag_ids.retain(|id| seen.insert(id.clone()));
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_product_is_larger_than_its_bound_and_the_bound_is_close() {
        let (id, name) = ("a".repeat(ID), "\u{1}".repeat(200));
        let tags = vec![json!({"id": id, "name": name}); MAX_TAGS];
        let product = json!({
            "id": id, "categoryId": id, "categoryName": name, "sku": "\u{1}".repeat(64),
            "name": name, "description": "\u{1}".repeat(10_000), "price": 999_999.99,
            "tags": tags,
        });
        let product: PublicProduct = serde_json::from_value(product).unwrap();
        let size = serde_json::to_vec(&product).unwrap().len() + 1;
        assert!(size <= PRODUCT_BYTES && PRODUCT_BYTES < size + 1_024, "{size}");
    }
}
