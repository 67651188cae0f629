//! Moves and deletes of products.

use tributary_functions::{http::check_confirmed, prelude::*};

use crate::{
    WebStore,
    model::{CategoryId, Product, ProductArrival, ProductDeparture, ProductId, PublicProduct},
    moves::{self, MoveOutcome},
    state::ProductSlot,
};

/// The body: the category to which the product moves.
pub struct NewCategory(CategoryId);

from_form!(NewCategory(text("categoryId", CategoryId::parse)));

const PRODUCT_ID_TAKEN: ApiError = ApiError::Conflict(
    "The new category has another product with this id. Delete one of the two first.",
);

/// Moves a product to another category: six store requests. `webstore/moves.rs` has the argument
/// that the product is neither lost nor doubled.
pub async fn move_product(
    State(store): State<WebStore>,
    Params((from, id)): Params<(CategoryId, ProductId)>,
    conditions: Conditions,
    JsonBody(NewCategory(to)): JsonBody<NewCategory>,
) -> Result<ItemResponse<PublicProduct>, ApiError> {
    retry(async |_| {
        let has_left = match store.products.slot(&from, &id).await? {
            ProductSlot::Live(product) => return begin(&store, &conditions, product, &to).await,
            ProductSlot::Deleted(tombstone) => tombstone.item.moved_to.as_ref() == Some(&to),
            ProductSlot::Empty => false,
        };
        // A repeated move: the product has come from the old category, and is in the new one.
        let has_come = |arrival: &ProductArrival| arrival.accepted && arrival.from == from;
        let product = store.products.item::<Product>(&to, &id).await?;
        let product = product
            .filter(|it| has_left || it.item.arrival.as_ref().is_some_and(has_come))
            .ok_or_else(|| conditions.missing("product"))?;
        Ok(answer(&product))
    })
    .await
}

async fn begin(
    store: &WebStore,
    conditions: &Conditions,
    Stored { item: product, etag }: Stored<Product>,
    to: &CategoryId,
) -> Result<ItemResponse<PublicProduct>, ApiError> {
    let Product { category_id: from, id, departure, .. } = &product;
    if let Some(departure) = departure {
        // An earlier attempt or another caller has begun this move, or another one, which ends first.
        let outcome = moves::end(store, from, id, departure).await?;
        return if departure.to == *to {
            answered(outcome)
        } else {
            Err(StoreError::race(false).into())
        };
    }
    conditions.check(Some(&etag))?;
    if from == to {
        check_confirmed()?;
        return Ok(answer(&Stored { item: product, etag }));
    }
    let target = async { Ok(store.products.slot(to, id).await?) };
    let (category, target) = futures::try_join!(store.label(to), target)?;
    if matches!(target, ProductSlot::Live(_)) {
        return Err(PRODUCT_ID_TAKEN);
    }
    let departure = ProductDeparture::new(to, &category.item);
    let product = product.with_departure(Some(departure.clone()));
    let source = store.products.save(product, Some(&etag)).await?;
    answered(moves::end_from(store, source, &departure, target).await?)
}

fn answered(outcome: MoveOutcome) -> Result<ItemResponse<PublicProduct>, ApiError> {
    match outcome {
        MoveOutcome::Arrived(Some(product)) => Ok(answer(&product)),
        MoveOutcome::Refused => Err(PRODUCT_ID_TAKEN),
        MoveOutcome::CategoryFull(full) => Err(full.into()),
        MoveOutcome::Arrived(None) | MoveOutcome::AlreadyEnded => {
            Err(StoreError::race(false).into())
        }
    }
}

fn answer(product: &Stored<Product>) -> ItemResponse<PublicProduct> {
    http::item(StatusCode::OK, &product.item.public(), &product.etag)
}

/// Deletes a product: two store requests. A tombstone replaces it.
pub async fn delete_product(
    State(store): State<WebStore>,
    Params((category_id, id)): Params<(CategoryId, ProductId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |_| {
        let slot = store.products.slot::<Product>(&category_id, &id).await?;
        let Some(Stored { item: product, etag }) = command.delete(slot, "product")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        if let Some(departure) = &product.departure {
            // The move ends first. The next attempt finds the product here only if the move was refused.
            moves::end(&store, &category_id, &id, departure).await?;
            return Err(StoreError::race(false).into());
        }
        store.products.save(product.deleted(&command.id), Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
