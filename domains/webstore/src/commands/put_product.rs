//! `PUT /categories/{categoryId}/products/{productId}`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tributary_functions::{http::check_confirmed, prelude::*};

use crate::{
    WebStore,
    model::{
        CategoryId, DeletedProduct, Label, LabelCopy, Product, ProductId, ProductText,
        PublicProduct, TagId,
    },
    moves::{self, MoveOutcome},
};

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
    let target = Mutex::new((category_id.clone(), Follows::OwnEdit));
    let put = PutProduct { category_id, id, text: text.each_tag_once(), command, target };
    retry(async |attempt: Attempt| {
        let written = put.save(&store, attempt).await?;
        let location = |product: &Product| {
            format!("/api/categories/{}/products/{}", product.category_id, product.id)
        };
        Ok(written.answer(&written.stored.item.public(), location))
    })
    .await
}

/// A request to create or edit a product, with the category in which its next attempt looks for the product.
struct PutProduct {
    category_id: CategoryId,
    id: ProductId,
    text: ProductText,
    command: ItemCommand,
    target: Mutex<(CategoryId, Follows)>,
}

/// Whether an attempt follows a product that has moved out of its target.
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
    async fn save(
        &self,
        store: &WebStore,
        attempt: Attempt,
    ) -> Result<WrittenItem<Product>, ApiError> {
        let Self { id, command: ItemCommand { id: command, conditions, .. }, .. } = self;
        let (category_id, follows) = self.target().clone();
        let slot = store.products.slot::<Product>(&category_id, id).await?;
        let (tombstone, etag) = match slot.put(command, attempt, &()) {
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
            return self.begin_anew(to, Follows::Always);
        }
        if category_id != self.category_id {
            // The product was deleted in the category to which an attempt has followed it. The next attempt
            // creates a product, as any `PUT` to an empty slot does, or fails on a condition.
            return self.begin_anew(&self.category_id, Follows::Never);
        }
        conditions.check(None)?;
        let tags = tags(store, &self.text.tag_ids, &[]);
        let (category, tags) = futures::try_join!(store.label(&category_id), tags)?;
        let product =
            Product::new(id.clone(), category_id, &category.item, &self.text, tags, command);
        let product = product.over(tombstone.as_ref());
        Ok(WrittenItem::created(store.products.save(product, etag.as_ref()).await?))
    }

    /// Edits a product that an attempt has found. A departing product ends its move first.
    async fn edit(
        &self,
        store: &WebStore,
        found: Stored<Product>,
    ) -> Result<Stored<Product>, ApiError> {
        let Self { id, text, command, .. } = self;
        let product = &found.item;
        self.target().1 = Follows::Always;
        if let Some(departure) = &product.departure {
            let outcome = moves::end(store, &product.category_id, id, departure).await?;
            return match outcome {
                MoveOutcome::Arrived(_) => self.begin_anew(&departure.to, Follows::Always),
                _ => Err(StoreError::race(false).into()),
            };
        }
        if product.has_text(text) {
            check_confirmed()?;
            return Ok(found);
        }
        let tags = tags(store, &text.tag_ids, &product.tags).await?;
        let edited = product.edited(text, tags, &command.id);
        Ok(store.products.save(edited, Some(&found.etag)).await?)
    }

    fn target(&self) -> MutexGuard<'_, (CategoryId, Follows)> {
        self.target.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends an attempt. The next one looks for the product in this category.
    fn begin_anew<T>(&self, category_id: &CategoryId, follows: Follows) -> Result<T, ApiError> {
        *self.target() = (category_id.clone(), follows);
        Err(StoreError::race(false).into())
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
