//! `PUT /categories/{categoryId}/products/{productId}`.

use std::sync::{Mutex, PoisonError};

use axum::extract::State;
use tributary_functions::{
    cosmos::{Attempt, StoreError, Stored, retry},
    engines::command::{self, PutStep, WrittenItem},
    http::{ApiError, ItemCommand, ItemResponse, JsonBody, Params, from_form},
};

use crate::{
    WebStore,
    model::{
        CategoryId, DeletedProduct, Description, Label, LabelCopy, LabelKind, MAX_TAGS, Name,
        Price, Product, ProductId, ProductText, PublicProduct, Sku, TagId,
    },
    moves::{self, MoveOutcome},
    state::ProductSlot,
};

from_form!(ProductText {
    sku: text("sku", Sku::parse),
    name: text("name", Name::parse),
    description: optional_text("description", Description::parse),
    price: number("price", Price::parse),
    tag_ids: texts("tagIds", 0..=MAX_TAGS, TagId::parse),
});

/// Creates a product or edits one.
///
/// A creation takes four store requests: a read of the slot, of the category and of the tags in one
/// query, and the write. An edit takes two, and a third one if it adds a tag to the product: the
/// change feed updates the names that the product has already.
///
/// An edit that meets a move follows the product to its new category. If the product has been deleted
/// there, the edit begins anew in the category of the request.
pub async fn put_product(
    State(store): State<WebStore>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    command: ItemCommand,
    JsonBody(text): JsonBody<ProductText>,
) -> Result<ItemResponse<PublicProduct>, ApiError> {
    let target =
        Mutex::new(EditTarget { category_id: category_id.clone(), follows: Follows::OwnEdit });
    let put = PutProduct { category_id, id, text: text.each_tag_once(), command, target };
    retry(async |attempt: Attempt| {
        let written = put.save(&store.reading(attempt.reads), attempt).await?;
        let location = |product: &Product| {
            format!("/api/categories/{}/products/{}", product.category_id, product.id)
        };
        Ok(written.answer(&written.stored.item.public(), location))
    })
    .await
}

/// A request to create or edit a product, with the target of its next attempt.
struct PutProduct {
    category_id: CategoryId,
    id: ProductId,
    text: ProductText,
    command: ItemCommand,
    target: Mutex<EditTarget>,
}

/// The category in which an attempt looks for the product.
#[derive(Clone)]
struct EditTarget {
    category_id: CategoryId,
    follows: Follows,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// Only if this command was carried out before the move.
    OwnEdit,
    /// Always: an attempt has seen the product in the target.
    Always,
    /// Never: the product was deleted in the last category to which an attempt has followed it.
    Never,
}

impl PutProduct {
    /// Makes an attempt: creates the product, edits it, or sets the target of the next attempt.
    async fn save(
        &self,
        store: &WebStore,
        attempt: Attempt,
    ) -> Result<WrittenItem<Product>, ApiError> {
        let Self { id, command: ItemCommand { id: command, conditions }, .. } = self;
        let EditTarget { category_id, follows } = self.target();
        let slot = ProductSlot::from_item(store.product_item(&category_id, id).await?);
        let (tombstone, etag) = match slot.put(command, attempt, self) {
            PutStep::Done(written) => return Ok(written),
            PutStep::Edit(found) => {
                conditions.check(Some(&found.etag))?;
                return Ok(WrittenItem::edited(self.edit(store, found).await?));
            }
            // The conditions are checked for the category in which the product is created in the end.
            PutStep::Create(tombstone) => tombstone.map(|it| (it.item, it.etag)).unzip(),
        };
        if let Some(DeletedProduct { moved_to: Some(to), recent, .. }) = &tombstone
            && match follows {
                Follows::OwnEdit => recent.knows(command),
                Follows::Always => true,
                Follows::Never => false,
            }
        {
            return self.follow_to(to);
        }
        if category_id != self.category_id {
            return self.return_to_request();
        }
        conditions.check(None)?;
        let product = self.new_product(store, category_id, tombstone.as_ref()).await?;
        Ok(WrittenItem::created(store.write(product, etag.as_ref()).await?))
    }

    /// Returns the new product, with the names of its labels.
    async fn new_product(
        &self,
        store: &WebStore,
        category_id: CategoryId,
        tombstone: Option<&DeletedProduct>,
    ) -> Result<Product, ApiError> {
        let Self { id, text, command, .. } = self;
        let category = async {
            let label = store.live_label(LabelKind::Category, category_id.as_str()).await?;
            label.ok_or(ApiError::NotFound("category"))
        };
        let (category, tags) = futures::try_join!(category, tags(store, &text.tag_ids, &[]))?;
        let product =
            Product::new(id.clone(), category_id, &category.item, text, tags, &command.id);
        Ok(tombstone.iter().fold(product, |product, it| product.replacing(it)))
    }

    /// Edits a product that an attempt has found. A departing product ends its move first.
    async fn edit(
        &self,
        store: &WebStore,
        found: Stored<Product>,
    ) -> Result<Stored<Product>, ApiError> {
        let Self { id, text, command, .. } = self;
        let product = &found.item;
        self.follow_always();
        if let Some(departure) = &product.departure {
            let from = &product.category_id;
            return match moves::end(store, from, id, departure).await? {
                MoveOutcome::Arrived(_) => self.follow_to(&departure.to),
                MoveOutcome::Refused | MoveOutcome::CategoryFull(_) | MoveOutcome::AlreadyEnded => {
                    Err(StoreError::race(false).into())
                }
            };
        }
        if product.has_text(text) {
            store.reads.confirmed()?;
            return Ok(found);
        }
        let tags = tags(store, &text.tag_ids, &product.tags).await?;
        let edited = product.edited(text, tags, &command.id);
        Ok(store.write(edited, Some(&found.etag)).await?)
    }

    fn target(&self) -> EditTarget {
        self.target.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that an attempt has seen the product in its target.
    fn follow_always(&self) {
        self.target.lock().unwrap_or_else(PoisonError::into_inner).follows = Follows::Always;
    }

    /// Ends an attempt whose product has moved. The next attempt edits it in its new category.
    fn follow_to<T>(&self, category_id: &CategoryId) -> Result<T, ApiError> {
        self.begin_anew(category_id, Follows::Always)
    }

    /// Ends an attempt whose product was deleted in the category to which it was followed. The next
    /// attempt creates a product in the category of the request, as any `PUT` to an empty slot does,
    /// or fails on a condition.
    fn return_to_request<T>(&self) -> Result<T, ApiError> {
        self.begin_anew(&self.category_id, Follows::Never)
    }

    fn begin_anew<T>(&self, category_id: &CategoryId, follows: Follows) -> Result<T, ApiError> {
        let target = EditTarget { category_id: category_id.clone(), follows };
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = target;
        Err(StoreError::race(false).into())
    }
}

impl command::DesiredItem<Product> for PutProduct {
    fn has_created(&self, product: &Product) -> bool {
        product.created_by == self.command.id
    }
}

/// Returns the copies of the tags with these ids. Copies in `known` are not read again.
async fn tags(
    store: &WebStore,
    ids: &[TagId],
    known: &[LabelCopy],
) -> Result<Vec<LabelCopy>, ApiError> {
    let is_new = |id: &&TagId| known.iter().all(|tag| tag.id != id.as_str());
    let new: Vec<TagId> = ids.iter().filter(is_new).cloned().collect();
    let read = store.tags(&new).await?;
    let all: Vec<LabelCopy> = known.iter().cloned().chain(read.iter().map(Label::copy)).collect();
    let find = |id: &TagId| all.iter().find(|tag| tag.id == id.as_str()).cloned();
    let tags: Option<Vec<LabelCopy>> = ids.iter().map(find).collect();
    tags.ok_or(ApiError::NotFound("tag"))
}
