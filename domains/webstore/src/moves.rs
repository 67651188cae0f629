//! The move of a product to another category, which is another logical partition.
//!
//! No transaction reaches two partitions, so a move is three writes. After a crash the change feed
//! brings about the missing ones:
//!
//! 1. The product in the old category gets a [`ProductDeparture`], under its ETag. Readers see the
//!    product as before. A command that meets the departing product ends the move first.
//! 2. The product is written to the new category, in an empty slot or over a tombstone, with the
//!    outcome of the move: an accepted [`ProductArrival`]. If the slot has another product, the
//!    refused arrival is written on that product.
//! 3. After an accepted arrival a tombstone replaces the product in the old category, and names the
//!    new category. After a refused arrival the product loses its departure, and stays.
//!
//! [`end`] makes the second and the third write. It is called by the command, by another command
//! that meets the product, by the audit, and by the projection when the change feed delivers the
//! departure.
//!
//! # Why a move ends right
//!
//! *Every outcome is written once.* The slot in the new category decides, in one write.
//!
//! 1. A writer of an outcome reads the target first and then the source. It writes only if the
//!    source still has this departure, and under the ETag of that target (or it creates the item,
//!    if the target was empty).
//! 2. If another writer has written the outcome after that read of the target, the store refuses
//!    this write, and its writer reads again.
//! 3. If another writer has written the outcome before that read, the target shows it: every later
//!    item in that slot keeps the arrival, tombstones and new products included, until the outcome
//!    of another move replaces it. A writer that replaces an arrival ends the earlier move first.
//!    Then the source of the earlier move has no departure any more, and the read of the source
//!    shows that. Move ids are used once.
//!
//! *No loss.* A tombstone replaces the product only when the accepted arrival is written, so the
//! new product was there before. Later changes of the new product are not part of the move.
//!
//! *No double.* A product loses its departure only after a refused arrival, and no accepted arrival
//! is ever written for that move. The tombstone and the product without a departure are both
//! written under the ETag of the departing product.
//!
//! *Always visible.* A reader finds the product in its old category until the tombstone is written,
//! and in the new one from before that. For this moment the product is in both lists.
//!
//! *No edit is lost.* An edit before the departure is part of the moved product, since the departure
//! is written under the product's ETag. An edit that loses that race, or meets the departing
//! product, follows the product to the new category (`commands/put_product.rs`). A tag's new name
//! may be written to the departing product after [`end`] has read it. That name is missing in the
//! new category, and is found missing when the change feed delivers the product there
//! (`projections/products_integrity.rs`).
//!
//! *It ends.* The departing product is a change of its container. The change is acknowledged only
//! when the product departs no more.
//!
//! *A full category.* The store refuses each write to a full logical partition. So no outcome can be
//! written there, and the product would wait for ever. A caller of [`end`] that meets this takes the
//! move back: the product loses its departure, under its ETag, and remembers the move. From then on
//! only one writer can write an outcome for the move: one that had read the departing product before,
//! and whose write finds room that a deletion has just made. That writer cannot conclude its move. It
//! reads the slot in the old category, finds the move taken back, and deletes the item that it has
//! written, under the ETag of its own write. Both products stay only if the writer crashes in this
//! moment, or if another command has edited the product there already. No edit is lost then, and the
//! second product can be deleted.

use super::{
    WebStore,
    model::{CategoryId, Product, ProductArrival, ProductDeparture, ProductId, ProductItem},
};
use tributary_functions::cosmos::{Reason, StoreError, Stored};

/// The outcome of a move.
#[derive(Debug)]
pub(super) enum MoveOutcome {
    /// The product is in its new category; `None` if it has been deleted or moved on since.
    Arrived(Option<Box<Stored<Product>>>),
    /// The slot in the new category has another product: the product stays.
    Refused,
    /// The new category is full: the move was taken back, and the product stays.
    CategoryFull(StoreError),
    /// Another caller has ended the move.
    AlreadyEnded,
}

/// Ends a move that has begun. After an error, such as a lost race, the move is in a valid state, and
/// another call ends it.
pub(super) async fn end(
    store: &WebStore,
    from: &CategoryId,
    id: &ProductId,
    departure: &ProductDeparture,
) -> Result<MoveOutcome, StoreError> {
    let latest = store.latest_committed();
    // The target is read before the source: step 1 of the argument above.
    let target = latest.product_item(&departure.to, id).await?;
    match departing(&latest, from, id, departure).await? {
        Some(source) => end_from(&latest, source, departure, target).await,
        None => Ok(MoveOutcome::AlreadyEnded),
    }
}

/// Ends a move whose departing product is `source`, read or written after `target` was read.
pub(super) async fn end_from(
    store: &WebStore,
    source: Stored<Product>,
    departure: &ProductDeparture,
    target: Option<Stored<ProductItem>>,
) -> Result<MoveOutcome, StoreError> {
    let decided = match target {
        Some(target) if has_outcome(&target.item, departure) => target,
        undecided => match write_outcome(store, &source, departure, undecided).await? {
            Ok(decided) => decided,
            Err(full) => {
                let product = source.item.taking_back(departure);
                store.write(product, Some(&source.etag)).await?;
                return Ok(MoveOutcome::CategoryFull(full));
            }
        },
    };
    let accepted = decided.item.arrival().is_some_and(|arrival| arrival.accepted);
    if let Err(error) = conclude(store, &source, &departure.to, accepted).await {
        if accepted && error.is_race() {
            withdraw_arrival(store, &source.item, departure, &decided).await?;
        }
        return Err(error);
    }
    Ok(if accepted {
        MoveOutcome::Arrived(decided.of_type().map(Box::new))
    } else {
        MoveOutcome::Refused
    })
}

/// Writes the outcome of a move at its target. The inner error is that of a full target.
async fn write_outcome(
    store: &WebStore,
    Stored { item: source, etag: from }: &Stored<Product>,
    departure: &ProductDeparture,
    target: Option<Stored<ProductItem>>,
) -> Result<Result<Stored<ProductItem>, StoreError>, StoreError> {
    if let Some(earlier) = target.as_ref().and_then(|target| target.item.arrival()) {
        end_earlier(store, earlier, &departure.to, &source.id).await?;
    }
    let over = target.as_ref().map(|target| &target.etag);
    let written = match target.as_ref().map(|target| &target.item) {
        None => store.write_moved(source.arriving(departure, None), from, over).await,
        Some(ProductItem::DeletedProduct(it)) => {
            store.write_moved(source.arriving(departure, Some(it)), from, over).await
        }
        Some(ProductItem::Product(other)) => {
            let refused = other.with_refused_arrival(departure, &source.category_id);
            store.write(ProductItem::from(refused), over).await
        }
    };
    match written {
        Ok(decided) => Ok(Ok(decided)),
        Err(error) if error.reason == Reason::PartitionFull => Ok(Err(error)),
        Err(error) => Err(error),
    }
}

/// Deletes the arrived product if its move was taken back before its arrival was written. A product
/// that has changed since then stays.
async fn withdraw_arrival(
    store: &WebStore,
    source: &Product,
    departure: &ProductDeparture,
    arrived: &Stored<ProductItem>,
) -> Result<(), StoreError> {
    let latest = store.latest_committed();
    let left = latest.product_item(&source.category_id, &source.id).await?;
    match (&arrived.item, left) {
        (ProductItem::Product(product), Some(left)) if left.item.has_taken_back(departure) => {
            let tombstone = product.deleted(&departure.move_id);
            store.write(tombstone, Some(&arrived.etag)).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Ends an earlier move to the category `to`, whose outcome is about to be replaced.
async fn end_earlier(
    store: &WebStore,
    arrival: &ProductArrival,
    to: &CategoryId,
    id: &ProductId,
) -> Result<(), StoreError> {
    let source = store.latest_committed().product(&arrival.from, id).await?;
    let move_id = |product: &Product| product.departure.as_ref().map(|it| it.move_id.clone());
    match source.filter(|it| move_id(&it.item).as_ref() == Some(&arrival.move_id)) {
        Some(source) => conclude(store, &source, to, arrival.accepted).await,
        None => Ok(()),
    }
}

/// Writes the third write of a move, in the old category: the tombstone after an accepted arrival,
/// the product without its departure after a refused one.
async fn conclude(
    store: &WebStore,
    source: &Stored<Product>,
    to: &CategoryId,
    accepted: bool,
) -> Result<(), StoreError> {
    let item: ProductItem = if accepted {
        source.item.moved(to).into()
    } else {
        source.item.with_departure(None).into()
    };
    store.write(item, Some(&source.etag)).await.map(drop)
}

async fn departing(
    store: &WebStore,
    from: &CategoryId,
    id: &ProductId,
    departure: &ProductDeparture,
) -> Result<Option<Stored<Product>>, StoreError> {
    let product = store.product(from, id).await?;
    Ok(product.filter(|product| product.item.departure.as_ref() == Some(departure)))
}

/// Returns true if the item has the outcome of this move.
fn has_outcome(item: &ProductItem, departure: &ProductDeparture) -> bool {
    item.arrival().is_some_and(|arrival| arrival.move_id == departure.move_id)
}
