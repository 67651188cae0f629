//! The writes of a move to a colder container. The module above says why it ends right.

use tributary_functions::prelude::*;

use super::stored::{CopyState, NewsItem, StoredItem};

/// The outcome of a move to a colder container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgeMoveOutcome {
    Moved,
    /// The colder container had this version already. The hotter copy is carried now.
    AlreadyThere,
    /// There was nothing to do: the item is not in the hotter container, or departs from there.
    Nothing,
}

/// Moves an item to a colder container. Both containers must read the latest committed state.
///
/// Four store requests: two reads, two writes. An error, such as a lost race ([`StoreError::is_race`]),
/// leaves the move in any valid state.
pub async fn move_to_colder(
    from: &Container,
    to: &Container,
    partition: &str,
    id: &str,
) -> Result<AgeMoveOutcome, StoreError> {
    // The order matters: `moves` says why.
    let target: Option<Stored<NewsItem>> = to.read(partition, id).await?;
    let source = from.item::<StoredItem>(partition, id).await?;
    let Some(Stored { item, etag }) = source.filter(|it| it.item.state == CopyState::Live) else {
        return Ok(AgeMoveOutcome::Nothing);
    };
    let is_there = target.as_ref().is_some_and(|target| target.item.has_version(item.version));
    if !is_there {
        let over = target.as_ref().map(|target| &target.etag);
        to.save_moved(item.clone(), (&etag, over)).await?;
    }
    from.save(item.carried(), Some(&etag)).await?;
    Ok(if is_there { AgeMoveOutcome::AlreadyThere } else { AgeMoveOutcome::Moved })
}

/// Deletes the carried copy of an item, if there is one.
pub async fn remove_carried_copy(
    container: &Container,
    partition: &str,
    id: &str,
) -> Result<(), StoreError> {
    let copy = container.item::<StoredItem>(partition, id).await?;
    let Some(copy) = copy.filter(|it| it.item.state == CopyState::Carried) else { return Ok(()) };
    match container.delete(partition, id, &copy.etag).await {
        Err(StoreError { reason: Reason::NotFound, .. }) => Ok(()),
        deleted => deleted,
    }
}
