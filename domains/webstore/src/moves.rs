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
    model::{CategoryId, DeletedProduct, Product, ProductArrival, ProductDeparture, ProductId},
    state::ProductSlot,
};
use tributary_functions::prelude::*;

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
    let target = latest.products.slot::<Product>(&departure.to, id).await?;
    match latest.products.item::<Product>(from, id).await? {
        Some(source) if source.item.departure.as_ref() == Some(departure) => {
            end_from(&latest, source, departure, target).await
        }
        _ => Ok(MoveOutcome::AlreadyEnded),
    }
}

/// Ends a move whose departing product is `source`, read or written after `target` was read.
pub(super) async fn end_from(
    store: &WebStore,
    source: Stored<Product>,
    departure: &ProductDeparture,
    target: ProductSlot,
) -> Result<MoveOutcome, StoreError> {
    let is_decided = arrival(&target).is_some_and(|it| it.move_id == departure.move_id);
    let decided = if is_decided {
        target
    } else {
        if let Some(earlier) = arrival(&target) {
            end_earlier(store, earlier, &source.item.id).await?;
        }
        match write_outcome(store, &source, departure, target).await {
            Ok(decided) => ProductSlot::Live(decided),
            Err(full) if full.reason == Reason::PartitionFull => {
                let product = source.item.taking_back(departure);
                store.products.save(product, Some(&source.etag)).await?;
                return Ok(MoveOutcome::CategoryFull(full));
            }
            Err(error) => return Err(error),
        }
    };
    let accepted = arrival(&decided).is_some_and(|arrival| arrival.accepted);
    if let Err(error) = conclude(store, &source, accepted).await {
        if let (ProductSlot::Live(arrived), true) = (&decided, accepted && error.is_race()) {
            withdraw_arrival(store, &source.item, departure, arrived).await?;
        }
        return Err(error);
    }
    Ok(if accepted {
        MoveOutcome::Arrived(decided.live().map(Box::new))
    } else {
        MoveOutcome::Refused
    })
}

async fn write_outcome(
    store: &WebStore,
    Stored { item: source, etag: from }: &Stored<Product>,
    departure: &ProductDeparture,
    target: ProductSlot,
) -> Result<Stored<Product>, StoreError> {
    let (arriving, over) = match target {
        ProductSlot::Empty => (source.arriving(departure, None), None),
        ProductSlot::Deleted(Stored { item, etag }) => {
            (source.arriving(departure, Some(&item)), Some(etag))
        }
        ProductSlot::Live(Stored { item: other, etag }) => {
            let refused = other.with_refused_arrival(departure, &source.category_id);
            return store.products.save(refused, Some(&etag)).await;
        }
    };
    store.products.save_moved(arriving, (from, over.as_ref())).await
}

/// Deletes the arrived product if its move was taken back before its arrival was written. A product
/// that has changed since then stays.
async fn withdraw_arrival(
    store: &WebStore,
    source: &Product,
    departure: &ProductDeparture,
    arrived: &Stored<Product>,
) -> Result<(), StoreError> {
    let latest = store.latest_committed().products;
    let taken_back = match latest.slot::<Product>(&source.category_id, &source.id).await? {
        ProductSlot::Live(left) => left.item.taken_back,
        ProductSlot::Deleted(left) => left.item.taken_back,
        ProductSlot::Empty => return Ok(()),
    };
    if taken_back.contains(&departure.move_id) {
        let tombstone = arrived.item.deleted(&departure.move_id);
        let tombstone = DeletedProduct { moved_to: None, ..tombstone };
        store.products.save(tombstone, Some(&arrived.etag)).await?;
    }
    Ok(())
}

/// Ends an earlier move to the same category, whose outcome is about to be replaced.
async fn end_earlier(
    store: &WebStore,
    arrival: &ProductArrival,
    id: &ProductId,
) -> Result<(), StoreError> {
    let source = store.latest_committed().products.item::<Product>(&arrival.from, id).await?;
    let is_earlier = |it: &ProductDeparture| it.move_id == arrival.move_id;
    match source.filter(|it| it.item.departure.as_ref().is_some_and(is_earlier)) {
        Some(source) => conclude(store, &source, arrival.accepted).await,
        None => Ok(()),
    }
}

/// Writes the third write of a move, in the old category: the tombstone after an accepted arrival,
/// the product without its departure after a refused one.
async fn conclude(
    store: &WebStore,
    Stored { item: source, etag }: &Stored<Product>,
    accepted: bool,
) -> Result<(), StoreError> {
    if accepted {
        store.products.save(source.tombstone(), Some(etag)).await.map(drop)
    } else {
        store.products.save(source.with_departure(None), Some(etag)).await.map(drop)
    }
}

fn arrival(slot: &ProductSlot) -> Option<&ProductArrival> {
    match slot {
        ProductSlot::Live(product) => product.item.arrival.as_ref(),
        ProductSlot::Deleted(tombstone) => tombstone.item.arrival.as_ref(),
        ProductSlot::Empty => None,
    }
}
