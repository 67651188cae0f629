//! The replay of many dead letters of a projection, for the command `projections`.

use futures::{StreamExt, stream};
use serde::Serialize;

use super::{list_dead_letters::query, replay_dead_letter::Replay};
use crate::{
    cosmos::{JsonText, Scope},
    engines::child_list::SortKey,
    http::{ApiError, Conditions},
    projection::Projections,
    values::CommandId,
};

const PAGE_ITEMS: u32 = 100;

const MAX_REPLAYS: usize = 8;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReplayCounts {
    /// The number of dead letters whose changes were applied, or had nothing to change.
    pub replayed: u64,
    /// The number of dead letters whose changes have failed again, or that cannot be read.
    pub failed: u64,
}

/// Replays the dead letters of a function, newest first. With `matching`, only those whose reason or
/// document id has this text. Calls `report` after each page of 100.
///
/// A dead letter that fails again, or comes meanwhile, has a later date than the page, and is not met. So
/// the replay ends. Each replay takes effect once ([`replay_dead_letter`](super::replay_dead_letter())): after
/// an interruption, the next call replays the others.
///
/// # Errors
///
/// A conflict where the projection is paused, and errors of the store that may pass.
pub(crate) async fn replay_many(
    projections: &Projections,
    function: &str,
    matching: Option<&str>,
    mut report: impl FnMut(&ReplayCounts),
) -> Result<ReplayCounts, ApiError> {
    let (state, _) = projections.states().read(function).await?;
    if state.pause.is_some() {
        return Err(ApiError::Conflict("The projection is paused. Resume it, then replay."));
    }
    let container = projections.dead_letters().container();
    let conditions = &Conditions::default();
    let mut counts = ReplayCounts::default();
    let mut after = None;
    loop {
        let page = query(PAGE_ITEMS, after.as_ref())?;
        let letters: Vec<JsonText> =
            container.query(page, Scope::Partition(function), PAGE_ITEMS).await?;
        let key = |letter: &JsonText| Some(SortKey(letter.field("failedAt")?, letter.id()?));
        after = letters.iter().rev().find_map(key);
        let is_chosen = |letter: &&JsonText| {
            let texts = ["reason", "documentId"].map(|name| letter.field::<String>(name));
            matching.is_none_or(|part| texts.iter().flatten().any(|text| text.contains(part)))
        };
        let chosen = letters.iter().filter(is_chosen).filter_map(JsonText::id);
        let replays = chosen.map(|id| async move {
            let command = CommandId::fresh();
            Replay::new((projections, &id), conditions, &command, "").run().await
        });
        let mut replays = stream::iter(replays).buffer_unordered(MAX_REPLAYS);
        while let Some(replayed) = replays.next().await {
            match replayed {
                // Another command may have replayed it, or deleted it.
                Ok(_) | Err(ApiError::NotFound(_)) => counts.replayed += 1,
                Err(ApiError::Store(error)) if error.is_transient() => return Err(error.into()),
                // The dead letter cannot be read, or its change has failed again.
                Err(_) => counts.failed += 1,
            }
        }
        report(&counts);
        if after.is_none() || letters.len() < PAGE_ITEMS as usize {
            return Ok(counts);
        }
    }
}
