//! The move of a product to another category, which is another logical partition.
//!
//! No transaction reaches two partitions, so a move is three writes, and the change feed makes those
//! that a crash has left out:
//!
//! 1. The product in the old category gets a [`Departure`], under its ETag. Readers see it as before.
//!    It waits there: commands that meet it end the move first.
//! 2. The product is written to the new category, in an empty place or over a tombstone, with the
//!    outcome of the move: an accepted [`Arrival`]. Where another product stands in that place, the
//!    refused arrival is written on that product.
//! 3. Upon an accepted arrival a tombstone takes the place in the old category, which names the new
//!    one. Upon a refused arrival the product loses its departure, and stays.
//!
//! [`end`] makes the second and third, whoever calls it: the command, another command that meets the
//! product, the audit, or the projection when the change feed delivers the departure.
//!
//! # Why a move ends right
//!
//! *Every outcome is written once.* The place in the new category decides, in one write.
//!
//! 1. Whoever writes an outcome has read the target first, then the source, which still had this
//!    departure, and writes under the ETag of that target (or creates, where nothing was).
//! 2. So if another has written the outcome after that read of the target, this write is refused, and
//!    its writer looks again.
//! 3. If another has written it before, the target shows it: every later item in that place keeps
//!    the arrival, tombstones and new products included, until another move's outcome replaces it.
//!    Whoever replaces it ends the earlier move first, so that its source has no departure any more,
//!    which is then seen by the read of the source. Move ids are used once.
//!
//! *No loss.* A tombstone takes the product's place only when the accepted arrival is there: the new
//! product was written before, and what becomes of it there is its own business.
//!
//! *No double.* A product loses its departure only upon a refused arrival, and no accepted one is
//! ever written for that move. Both are written under the ETag of the departing product.
//!
//! *Never in none.* A reader finds the product in its old category until the tombstone is written,
//! and in the new one before that. For this moment it is in both lists.
//!
//! *No edit is lost.* An edit before the departure is part of what moves, since the departure is
//! written under the product's ETag. An edit that loses that race, or meets the departing product,
//! follows it to the new category (`commands/put_product.rs`). A new name of a tag that is written
//! to the departing product after it was read here is found missing when the change feed delivers
//! the product in its new place (`projections/products_integrity.rs`).
//!
//! *It ends.* The departing product is a change of its container, and is acknowledged only when it
//! departs no more.
//!
//! *A full category.* The store refuses each write to a full logical partition, so no outcome can be
//! written there, and the product would wait for ever. Whoever meets that takes the move back: the
//! product loses its departure, under its ETag, and remembers the move. From then on no outcome is
//! written for it, but for a writer that had read the departing product before, and whose write finds
//! room that a deletion has just made. That writer cannot conclude its move. It reads the place in the
//! old category, finds the move taken back, and deletes what it has written, under the ETag of its
//! own write. Only if it crashes in this moment, or another command has edited the product there
//! already, both products stay: no edit is lost, and the second can be deleted.

use super::{
    Catalog,
    model::{Arrival, CategoryId, Departure, Product, ProductId, ProductItem},
};
use tributary_functions::cosmos::{Reason, StoreError, Stored};

/// How a move has ended.
#[derive(Debug)]
pub(super) enum MoveOutcome {
    /// The product is in its new category, if it has not been deleted or moved on since.
    Arrived(Option<Box<Stored<Product>>>),
    /// The place in the new category was taken: the product stays.
    Refused,
    /// The new category is full: the move was taken back, and the product stays.
    NoRoom(StoreError),
    /// Another has ended it.
    Over,
}

/// Ends a move that has begun. An error leaves it in any valid state; a lost race is one.
pub(super) async fn end(
    catalog: &Catalog,
    from: &CategoryId,
    id: &ProductId,
    departure: &Departure,
) -> Result<MoveOutcome, StoreError> {
    let latest = catalog.latest_committed();
    // In this order: see above.
    let target = latest.place(&departure.to, id).await?;
    match departing(&latest, from, id, departure).await? {
        Some(source) => end_from(&latest, source, departure, target).await,
        None => Ok(MoveOutcome::Over),
    }
}

/// Ends a move whose departing product is `source`, as it was read or written after `target`.
pub(super) async fn end_from(
    catalog: &Catalog,
    source: Stored<Product>,
    departure: &Departure,
    target: Option<Stored<ProductItem>>,
) -> Result<MoveOutcome, StoreError> {
    let decided = match target {
        Some(target) if is_of(target.item.arrival(), departure) => target,
        open => match decide(catalog, &source.item, departure, open).await? {
            Ok(decided) => decided,
            Err(full) => {
                let product = source.item.taking_back(departure);
                catalog.write(product, Some(&source.etag)).await?;
                return Ok(MoveOutcome::NoRoom(full));
            }
        },
    };
    let accepted = decided.item.arrival().is_some_and(|arrival| arrival.accepted);
    if let Err(error) = conclude(catalog, &source, &departure.to, accepted).await {
        if accepted && error.is_race() {
            withdraw(catalog, &source.item, departure, &decided).await?;
        }
        return Err(error);
    }
    Ok(if accepted {
        MoveOutcome::Arrived(decided.of_type().map(Box::new))
    } else {
        MoveOutcome::Refused
    })
}

/// Writes the outcome of a move at its target; the inner error says that the target is full.
async fn decide(
    catalog: &Catalog,
    source: &Product,
    departure: &Departure,
    target: Option<Stored<ProductItem>>,
) -> Result<Result<Stored<ProductItem>, StoreError>, StoreError> {
    if let Some(earlier) = target.as_ref().and_then(|target| target.item.arrival()) {
        // guard: move: an earlier move ends before its outcome is replaced
        end_earlier(catalog, earlier, &departure.to, &source.id).await?;
    }
    let item = match target.as_ref().map(|target| &target.item) {
        None => source.arriving(departure, None),
        Some(ProductItem::DeletedProduct(it)) => source.arriving(departure, Some(it)),
        // guard: move: a taken id refuses => `source.arriving(departure, None)`
        Some(ProductItem::Product(other)) => other.refusing(departure, &source.category_id),
    };
    let item = ProductItem::from(item);
    match catalog.write(item, target.as_ref().map(|target| &target.etag)).await {
        Ok(decided) => Ok(Ok(decided)),
        // guard: a move to a full category is taken back
        Err(error) if error.reason == Reason::PartitionFull => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

/// Deletes an arrival whose move was taken back before it was written, unless it has changed since.
async fn withdraw(
    catalog: &Catalog,
    source: &Product,
    departure: &Departure,
    arrived: &Stored<ProductItem>,
) -> Result<(), StoreError> {
    let place = catalog.latest_committed().place(&source.category_id, &source.id).await?;
    match (&arrived.item, place) {
        // guard: a late arrival of a move that was taken back is withdrawn => `if false`
        (ProductItem::Product(product), Some(place)) if place.item.has_taken_back(departure) => {
            let tombstone = product.deleted(&departure.move_id);
            catalog.write(tombstone, Some(&arrived.etag)).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Ends an earlier move to `here`, whose outcome is about to be replaced.
async fn end_earlier(
    catalog: &Catalog,
    arrival: &Arrival,
    here: &CategoryId,
    id: &ProductId,
) -> Result<(), StoreError> {
    let source = catalog.latest_committed().product(&arrival.from, id).await?;
    let departure = |product: &Product| product.departure.as_ref().map(|it| it.move_id.clone());
    match source.filter(|it| departure(&it.item).as_ref() == Some(&arrival.move_id)) {
        Some(source) => conclude(catalog, &source, here, arrival.accepted).await,
        None => Ok(()),
    }
}

/// Does in the old category what the outcome demands.
async fn conclude(
    catalog: &Catalog,
    source: &Stored<Product>,
    to: &CategoryId,
    accepted: bool,
) -> Result<(), StoreError> {
    let item: ProductItem = if accepted {
        source.item.moved(to).into()
    } else {
        source.item.with_departure(None).into()
    };
    catalog.write(item, Some(&source.etag)).await.map(drop)
}

/// The product in its old category, if it still departs with this move.
async fn departing(
    catalog: &Catalog,
    from: &CategoryId,
    id: &ProductId,
    departure: &Departure,
) -> Result<Option<Stored<Product>>, StoreError> {
    let product = catalog.product(from, id).await?;
    Ok(product.filter(|product| product.item.departure.as_ref() == Some(departure)))
}

fn is_of(arrival: Option<&Arrival>, departure: &Departure) -> bool {
    arrival.is_some_and(|arrival| arrival.move_id == departure.move_id)
}
