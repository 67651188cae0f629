//! `PUT /categories/{categoryId}/products/{productId}`.

use std::sync::{Mutex, PoisonError};

use axum::extract::State;
use tributary_functions::{
    cosmos::{Attempt, StoreError, Stored, retry},
    engines::command::{self, PutStep, WrittenItem},
    http::{ApiError, ItemCommand, ItemResponse, JsonBody, Params, from_form},
};

use crate::{
    Catalog,
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
/// A creation takes four store requests: the place, the category, the tags in one query, the write.
/// An edit takes two, and a third where it names a tag that the product did not have: the names that
/// it has are kept true by the change feed.
///
/// An edit that meets a move follows the product to its new category. Where the product has been
/// deleted there, the edit begins anew in the category that its caller named.
pub async fn put_product(
    State(catalog): State<Catalog>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    command: ItemCommand,
    JsonBody(text): JsonBody<ProductText>,
) -> Result<ItemResponse<PublicProduct>, ApiError> {
    let at = Mutex::new(At { category_id: category_id.clone(), follows: Follows::OwnEdit });
    let wanted = Wanted { category_id, id, text: text.each_tag_once(), command, at };
    retry(async |attempt: Attempt| {
        let written = wanted.save(&catalog.reading(attempt.reads), attempt).await?;
        let location = |product: &Product| {
            format!("/api/categories/{}/products/{}", product.category_id, product.id)
        };
        Ok(written.answer(&written.stored.item.public(), location))
    })
    .await
}

struct Wanted {
    category_id: CategoryId,
    id: ProductId,
    text: ProductText,
    command: ItemCommand,
    at: Mutex<At>,
}

/// Where an attempt looks for the product.
struct At {
    category_id: CategoryId,
    follows: Follows,
}

/// When an attempt follows a product that has moved on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// Where this command was carried out before the move.
    OwnEdit,
    /// Always: an attempt has seen the product there.
    Always,
    /// Never: it was followed, and deleted at the end of its way.
    Never,
}

impl Wanted {
    async fn save(
        &self,
        catalog: &Catalog,
        attempt: Attempt,
    ) -> Result<WrittenItem<Product>, ApiError> {
        let Self { id, command: ItemCommand { id: command, conditions }, .. } = self;
        let (category_id, follows) = self.at();
        let place = ProductSlot::from_item(catalog.place(&category_id, id).await?);
        let (tombstone, etag) = match place.put(command, attempt, self) {
            PutStep::Done(written) => return Ok(written),
            PutStep::Edit(found) => {
                conditions.check(Some(&found.etag))?;
                return Ok(WrittenItem::edited(self.edit(catalog, found).await?));
            }
            // The conditions hold where the product is to be created in the end.
            PutStep::Create(tombstone) => tombstone.map(|it| (it.item, it.etag)).unzip(),
        };
        if let Some(DeletedProduct { moved_to: Some(to), recent, .. }) = &tombstone
            && match follows {
                Follows::OwnEdit => recent.knows(command),
                // guard: move: an edit follows the product => `recent.knows(command)`
                Follows::Always => true,
                Follows::Never => false,
            }
        {
            return self.follow_to(to);
        }
        // guard: an edit that follows a deleted product goes back => `false`
        if category_id != self.category_id {
            return self.go_back();
        }
        conditions.check(None)?;
        let product = self.product(catalog, category_id, tombstone.as_ref()).await?;
        Ok(WrittenItem::created(catalog.write(product, etag.as_ref()).await?))
    }

    async fn product(
        &self,
        catalog: &Catalog,
        category_id: CategoryId,
        tombstone: Option<&DeletedProduct>,
    ) -> Result<Product, ApiError> {
        let Self { id, text, command, .. } = self;
        let category = async {
            let label = catalog.live_label(LabelKind::Category, category_id.as_str()).await?;
            label.ok_or(ApiError::NotFound("category"))
        };
        let (category, tags) = futures::try_join!(category, tags(catalog, &text.tag_ids, &[]))?;
        let product =
            Product::new(id.clone(), category_id, &category.item, text, tags, &command.id);
        Ok(tombstone.iter().fold(product, |product, it| product.following(it)))
    }

    async fn edit(
        &self,
        catalog: &Catalog,
        found: Stored<Product>,
    ) -> Result<Stored<Product>, ApiError> {
        let Self { id, text, command, .. } = self;
        let product = &found.item;
        self.has_seen();
        // guard: move: a departing product waits
        if let Some(departure) = &product.departure {
            let from = &product.category_id;
            return match moves::end(catalog, from, id, departure).await? {
                MoveOutcome::Arrived(_) => self.follow_to(&departure.to),
                MoveOutcome::Refused | MoveOutcome::NoRoom(_) | MoveOutcome::Over => {
                    Err(StoreError::race(false).into())
                }
            };
        }
        if product.has(text) {
            catalog.reads.confirmed()?;
            return Ok(found);
        }
        let tags = tags(catalog, &text.tag_ids, &product.tags).await?;
        let edited = product.edited(text, tags, &command.id);
        Ok(catalog.write(edited, Some(&found.etag)).await?)
    }

    fn at(&self) -> (CategoryId, Follows) {
        let at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        (at.category_id.clone(), at.follows)
    }

    fn has_seen(&self) {
        self.at.lock().unwrap_or_else(PoisonError::into_inner).follows = Follows::Always;
    }

    /// The product has moved: the next attempt edits it in its new category.
    fn follow_to<T>(&self, category_id: &CategoryId) -> Result<T, ApiError> {
        self.begin_anew(category_id, Follows::Always)
    }

    /// The product was deleted where it was followed to: the next attempt creates one in the category
    /// that the caller named, as a `PUT` does where nothing is, or meets a condition that fails.
    fn go_back<T>(&self) -> Result<T, ApiError> {
        self.begin_anew(&self.category_id, Follows::Never)
    }

    fn begin_anew<T>(&self, category_id: &CategoryId, follows: Follows) -> Result<T, ApiError> {
        let category_id = category_id.clone();
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = At { category_id, follows };
        Err(StoreError::race(false).into())
    }
}

impl command::DesiredItem<Product> for Wanted {
    fn has_created(&self, product: &Product) -> bool {
        product.created_by == self.command.id
    }
}

/// What the product keeps of the tags with these ids. Those that it has already are not read.
async fn tags(
    catalog: &Catalog,
    ids: &[TagId],
    known: &[LabelCopy],
) -> Result<Vec<LabelCopy>, ApiError> {
    let is_new = |id: &&TagId| known.iter().all(|tag| tag.id != id.as_str());
    let new: Vec<TagId> = ids.iter().filter(is_new).cloned().collect();
    let read = catalog.tags(&new).await?;
    let all: Vec<LabelCopy> = known.iter().cloned().chain(read.iter().map(Label::copy)).collect();
    let find = |id: &TagId| all.iter().find(|tag| tag.id == id.as_str()).cloned();
    let tags: Option<Vec<LabelCopy>> = ids.iter().map(find).collect();
    tags.ok_or(ApiError::NotFound("tag"))
}
