//! `PUT /categories/{categoryId}/products/{productId}`.

use std::sync::{Mutex, PoisonError};

use axum::{extract::State, http::StatusCode};
use tributary_functions::{
    cosmos::{Attempt, ETag, StoreError, Stored, retry},
    engines::command::{self, Put},
    http::{self, ApiError, Conditions, Form, FromForm, ItemResponse, JsonBody, Params},
    values::CommandId,
};

use crate::webstore::{
    model::{
        CategoryId, DeletedProduct, Description, Label, LabelCopy, LabelKind, MAX_TAGS, Name,
        Price, Product, ProductId, ProductText, PublicProduct, Sku, TagId,
    },
    moves::{self, MoveOutcome},
    state::{Catalog, product_place},
};

impl FromForm for ProductText {
    fn from_form(form: &mut Form) -> Option<Self> {
        let sku = form.text("sku", Sku::parse);
        let name = form.text("name", Name::parse);
        let description = form.optional_text("description", Description::parse);
        let price = form.number("price", Price::parse);
        let tag_ids = form.texts("tagIds", 0..=MAX_TAGS, TagId::parse);
        let text = Self {
            sku: sku?,
            name: name?,
            description: description?,
            price: price?,
            tag_ids: tag_ids?,
        };
        Some(text.each_tag_once())
    }
}

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
    conditions: Conditions,
    command: CommandId,
    JsonBody(text): JsonBody<ProductText>,
) -> Result<ItemResponse<PublicProduct>, ApiError> {
    let at = Mutex::new(At { category_id: category_id.clone(), follows: Follows::OwnEdit });
    let wanted = Wanted { category_id, id, text, conditions, command, at };
    retry(async |attempt: Attempt| wanted.save(&catalog.reading(attempt.reads), attempt).await)
        .await
}

/// The product as its caller wants it.
struct Wanted {
    /// The category that the caller named.
    category_id: CategoryId,
    id: ProductId,
    text: ProductText,
    conditions: Conditions,
    command: CommandId,
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
    ) -> Result<ItemResponse<PublicProduct>, ApiError> {
        let Self { id, command, conditions, .. } = self;
        let (category_id, follows) = self.at();
        let place = product_place(catalog.place(&category_id, id).await?);
        let (tombstone, etag) = match place.put(command, attempt, self) {
            Put::Created(it) | Put::Edited(it) => return Ok(self.answer(&it.item, &it.etag)),
            Put::Edit(Stored { item: product, etag }) => {
                conditions.check(Some(&etag))?;
                return self.edit(catalog, product, &etag).await;
            }
            Put::Create(tombstone) => tombstone.map(|it| (it.item, it.etag)).unzip(),
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
            return self.go_back();
        }
        conditions.check(None)?;
        let product = self.product(catalog, category_id, tombstone.as_ref()).await?;
        let etag = catalog.write(&product.clone().into(), etag.as_ref()).await?;
        Ok(self.answer(&product, &etag))
    }

    /// The product that is to be created.
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
        let product = Product::new(id.clone(), category_id, &category.item, text, tags, command);
        Ok(tombstone.iter().fold(product, |product, it| product.following(it)))
    }

    async fn edit(
        &self,
        catalog: &Catalog,
        product: Product,
        etag: &ETag,
    ) -> Result<ItemResponse<PublicProduct>, ApiError> {
        let Self { id, text, command, .. } = self;
        self.has_seen();
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
            return Ok(self.answer(&product, etag));
        }
        let tags = tags(catalog, &text.tag_ids, &product.tags).await?;
        let edited = product.edited(text, tags, command);
        let etag = catalog.write(&edited.clone().into(), Some(etag)).await?;
        Ok(self.answer(&edited, &etag))
    }

    fn answer(&self, product: &Product, etag: &ETag) -> ItemResponse<PublicProduct> {
        let (category_id, id) = (&product.category_id, &product.id);
        if command::Wanted::has_created(self, product) {
            let location = format!("/api/categories/{category_id}/products/{id}");
            http::created(&location, &product.public(), etag)
        } else {
            http::item(StatusCode::OK, &product.public(), etag)
        }
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

impl command::Wanted<Product> for Wanted {
    fn has_created(&self, product: &Product) -> bool {
        product.created_by == self.command
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
