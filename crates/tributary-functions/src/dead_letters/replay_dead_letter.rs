//! `POST /dead-letters/{letterId}/replay`.

use std::sync::OnceLock;

use axum::{Json, extract::State, http::HeaderMap};
use futures::{StreamExt, stream};
use schemars::JsonSchema;
use serde::Serialize;

use super::query;
use crate::{
    cosmos::{JsonText, Reason, Scope, retry},
    engines::child_list::SortKey,
    http::{ApiError, Conditions, INVOCATION_ID, Params},
    projection::{DeadLetterId, Projections, ReplayError, ReplayOutcome},
    values::CommandId,
};

/// The answer to a replay.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Replayed {
    id: DeadLetterId,
    outcome: ReplayOutcome,
}

/// Applies the change of a dead letter, and then deletes the dead letter under the ETag that was read. Versions guard
/// the copies, so a second application changes nothing. Of two replays at once, one finds the dead letter gone, and
/// succeeds, too. The host's repetition of a replay is answered from the settlement of the first. If a delivery has
/// stored the dead letter anew meanwhile, the replay starts over with that.
pub(crate) async fn replay_dead_letter(
    State(projections): State<Projections>,
    Params(id): Params<DeadLetterId>,
    conditions: Conditions,
    command: CommandId,
    headers: HeaderMap,
) -> Result<Json<Replayed>, ApiError> {
    let invocation = headers.get(INVOCATION_ID).and_then(|id| id.to_str().ok());
    let invocation = invocation.unwrap_or_default();
    let (projections, conditions, command) = (&projections, &conditions, &command);
    let replay = Replay { projections, id: id.as_str(), conditions, command, invocation };
    let outcome = replay.run().await?;
    Ok(Json(Replayed { id, outcome }))
}

#[derive(Clone, Copy)]
struct Replay<'a> {
    projections: &'a Projections,
    id: &'a str,
    conditions: &'a Conditions,
    command: &'a CommandId,
    invocation: &'a str,
}

impl Replay<'_> {
    async fn run(self) -> Result<ReplayOutcome, ApiError> {
        // The outcome of the first attempt that applied the change.
        let reached = OnceLock::new();
        let outcome = retry(async |_| self.attempt(&reached).await).await??;
        tracing::info!(dead_letter.id = self.id, ?outcome, "Replayed a dead letter");
        Ok(outcome)
    }

    async fn attempt(
        &self,
        reached: &OnceLock<ReplayOutcome>,
    ) -> Result<Result<ReplayOutcome, ApiError>, ApiError> {
        let letters = self.projections.dead_letters();
        let letter = letters.read(self.id).await?;
        let settled = letters.settled(self.id, self.command).await?;
        if let Some(outcome) = settled.and_then(|settled| settled.outcome) {
            return Ok(Ok(outcome));
        }
        let Some(letter) = letter else {
            return match reached.get() {
                Some(outcome) => Ok(Ok(*outcome)),
                None => Err(self.conditions.missing("dead letter")),
            };
        };
        self.conditions.check(Some(&letter.etag))?;
        let projection =
            self.projections.by_function(&letter.item.function).ok_or(ApiError::Conflict(
                "The app no longer has the function of this dead letter. Delete the dead letter.",
            ))?;
        let (state, _) = self.projections.states.read(projection.function()).await?;
        if state.pause.is_some() {
            return Err(ApiError::Conflict(
                "The projection of this dead letter is paused. Resume the projection, then replay.",
            ));
        }
        match projection.replay(&letter.item, self.invocation).await {
            Ok(outcome) => {
                let outcome = *reached.get_or_init(|| outcome);
                letters.settle(&letter, self.command, Some(outcome)).await?;
                Ok(Ok(outcome))
            }
            Err(ReplayError::Store(error)) => Err(error.into()),
            Err(ReplayError::Permanent(failed)) => {
                match letters.replace(&failed, &letter.etag).await {
                    Err(error) if error.reason != Reason::NotFound => Err(error.into()),
                    _ => Ok(Err(ApiError::Conflict(
                        "The change failed again. See `reason` of the dead letter.",
                    ))),
                }
            }
        }
    }
}

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

/// Replays the dead letters of a function, newest first; with `matching`, those whose reason or document id has this
/// text. One that fails again has a later date than the page, so the replay ends.
pub(crate) async fn replay_many(
    projections: &Projections,
    function: &str,
    matching: Option<&str>,
    mut report: impl FnMut(&ReplayCounts),
) -> Result<ReplayCounts, ApiError> {
    let (state, _) = projections.states.read(function).await?;
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
            let (id, command) = (id.as_str(), &CommandId::fresh());
            Replay { projections, id, conditions, command, invocation: "" }.run().await
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
