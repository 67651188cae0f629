//! The worker of a rebuild.

use std::{pin::pin, sync::Arc, time::Duration};

use custom_handler::{Document, Documents, InvocationId};
use futures::TryStreamExt;
use tokio::time::{Instant, sleep};

use super::Rebuilds;
use crate::{
    audit::{AuditPosition, AuditSlice},
    cosmos::{
        Container, JsonText, Pacer, Query, QueryPosition, Scope, StoreError, decided, metered,
        retry,
    },
    projection::{
        AnyProjection, BatchSource, IncompleteBatch,
        control::{CLAIM, ProjectionState, Rebuild, RebuildProgress, RebuildStep},
    },
    values::Timestamp,
};

const PAGE_SOURCES: u32 = 100;

const PAGE_COUNTED: u32 = 1_000;
const MAX_COUNTED: u64 = 1_000_000;

/// A position may be that of an older SDK, once or twice.
const MAX_RESTARTS: u32 = 3;

const AUDIT_SLICE: Duration = Duration::from_mins(1);

/// The reason for which a run has ended before its rebuild, which keeps its position.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RebuildStop {
    #[error("the rebuild has more to do")]
    OutOfTime,
    #[error("the projection is paused")]
    Paused,
    #[error("the rebuild was cancelled")]
    NoRebuild,
    #[error("another process works on the rebuild")]
    OtherWorker,
    #[error(
        "the rebuild has failed: a step began again {MAX_RESTARTS} times, and the store refuses its position \
         ({}). Correct the cause, then ask for the rebuild again",
        .0.reason
    )]
    Failed(StoreError),
    #[error("the store refused a request: {}", .0.reason)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Batch(#[from] IncompleteBatch),
}

struct Run<'a> {
    rebuilds: &'a Rebuilds,
    projection: &'a dyn AnyProjection,
    rebuild: Rebuild,
    deadline: Option<Instant>,
}

impl Rebuilds {
    pub(crate) async fn run(
        &self,
        function: &str,
        worker: &str,
        deadline: Option<Instant>,
        report: &mut (dyn FnMut(&Rebuild) + Send),
    ) -> Result<(), RebuildStop> {
        let projection = self.projections.by_function(function).ok_or(RebuildStop::NoRebuild)?;
        let rebuild = self.claim(function, worker).await?;
        let mut run = Run { rebuilds: self, projection, rebuild, deadline };
        let end = run.work(report).await;
        if !matches!(end, Err(RebuildStop::NoRebuild | RebuildStop::OtherWorker)) {
            self.release(function, worker).await?;
        }
        end
    }

    async fn update<T>(
        &self,
        function: &str,
        decide: impl Fn(&ProjectionState) -> (Option<Rebuild>, T),
    ) -> Result<T, StoreError> {
        let states = &self.projections.states;
        let update = retry(async |_| {
            let (state, etag) = states.read(function).await?;
            let (rebuild, result) = decide(&state);
            if let Some(rebuild) = rebuild {
                states.put(&state.with_rebuild(rebuild), etag.as_ref()).await?;
            }
            Ok(result)
        });
        decided(true, update).await.0
    }

    async fn claim(&self, function: &str, worker: &str) -> Result<Rebuild, RebuildStop> {
        let decide = |state: &ProjectionState| {
            let claimed = match state.rebuild_under_way() {
                None => Err(RebuildStop::NoRebuild),
                Some(_) if state.pause.is_some() => Err(RebuildStop::Paused),
                Some(rebuild) => {
                    rebuild.claimed(worker, Timestamp::now()).ok_or(RebuildStop::OtherWorker)
                }
            };
            (claimed.as_ref().ok().cloned(), claimed)
        };
        self.update(function, decide).await?
    }

    pub(crate) async fn release(&self, function: &str, worker: &str) -> Result<(), StoreError> {
        let decide = |state: &ProjectionState| {
            let own = state.rebuild.as_ref().filter(|rebuild| rebuild.worker_id() == Some(worker));
            (own.map(|own| Rebuild { worker: None, ..own.clone() }), ())
        };
        self.update(function, decide).await
    }

    async fn save(&self, function: &str, rebuild: &Rebuild) -> Result<(), RebuildStop> {
        let decide = |state: &ProjectionState| {
            let is_paused = state.pause.is_some();
            match &state.rebuild {
                Some(stored) if stored == rebuild => (None, Ok(is_paused)),
                // A cancelled one has no worker, so it stays so; here the caller learns what has happened.
                Some(stored) if stored.id != rebuild.id || !stored.is_under_way() => {
                    (None, Err(RebuildStop::NoRebuild))
                }
                Some(stored) if stored.worker_id() != rebuild.worker_id() => {
                    (None, Err(RebuildStop::OtherWorker))
                }
                Some(_) => (Some(rebuild.clone()), Ok(is_paused)),
                None => (None, Err(RebuildStop::NoRebuild)),
            }
        };
        let is_paused = self.update(function, decide).await??;
        // A rebuild that has ended is not held up.
        if is_paused && rebuild.is_under_way() { Err(RebuildStop::Paused) } else { Ok(()) }
    }
}

impl Run<'_> {
    async fn work(&mut self, report: &mut (dyn FnMut(&Rebuild) + Send)) -> Result<(), RebuildStop> {
        loop {
            report(&self.rebuild);
            match self.rebuild.step.clone() {
                RebuildStep::Sources { position } => self.apply_sources(position, report).await?,
                RebuildStep::Audit { position } => self.audit(position).await?,
                RebuildStep::Done { .. } => break,
                RebuildStep::Cancelled { .. } | RebuildStep::Failed { .. } => {
                    return Err(RebuildStop::NoRebuild);
                }
            }
        }
        let RebuildProgress { read, applied, dead_letters, findings, repaired, .. } =
            self.rebuild.progress;
        tracing::info!(
            projection = self.projection.function(),
            read,
            applied,
            dead_letters,
            findings,
            repaired,
            "Rebuilt a projection"
        );
        Ok(())
    }

    async fn apply_sources(
        &mut self,
        position: Option<QueryPosition>,
        report: &mut (dyn FnMut(&Rebuild) + Send),
    ) -> Result<(), RebuildStop> {
        // A source that a stale replica lacks would not be applied.
        let sources = self.projection.sources().latest_committed().in_background();
        let resumes = position.is_some();
        if !resumes {
            let pacer = &self.rebuilds.background.pacer;
            let counted = metered(count(&sources, self.rebuild.since, pacer, self.deadline));
            let (items, meter) = self.holding(counted).await?;
            self.rebuild.progress.items = items?;
            self.rebuild.progress.request_units += meter.request_units();
        }
        let query = sources_query("*", self.rebuild.since)?;
        let pages = sources.pages_behind(query, Scope::Container, PAGE_SOURCES, position);
        let mut pages = match pages.await {
            Err(error) if resumes && !error.is_transient() => {
                return self.begin_again(error).await;
            }
            pages => pin!(pages?),
        };
        let pacer = Arc::clone(&self.rebuilds.background.pacer);
        loop {
            let began = Instant::now();
            let (next, meter) = pacer.charge(metered(pages.try_next())).await;
            let next = match next {
                Err(error) if resumes && !error.is_transient() => {
                    return self.begin_again(error).await;
                }
                next => next?,
            };
            let Some((page, position)) = next else { break };
            let mut progress = self.rebuild.progress;
            progress.read += page.len() as u64;
            progress.request_units += meter.request_units();
            self.apply_page(page, &mut progress).await?;
            progress.sources_ms += u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.advance(RebuildStep::Sources { position: Some(position) }, progress).await?;
            report(&self.rebuild);
            self.check_deadline()?;
        }
        self.advance(RebuildStep::Audit { position: None }, self.rebuild.progress).await
    }

    async fn apply_page(
        &mut self,
        page: Vec<JsonText>,
        progress: &mut RebuildProgress,
    ) -> Result<(), RebuildStop> {
        let documents =
            page.into_iter().filter_map(|item| Document::from_json(item.into_text()).ok());
        let documents = Documents(documents.collect());
        let projections = &self.rebuilds.projections;
        let invocation = InvocationId(format!("rebuild-{}", self.rebuild.id));
        let budget = projections.options.retry_budget;
        let letters = projections.dead_letters();
        let batch =
            self.projection.run(letters, budget, BatchSource::Rebuild, documents, invocation);
        let rebuilds = self.rebuilds;
        let turn = rebuilds.background.pacer.run(self.deadline, metered(batch));
        let Some((batch, meter)) = self.holding(turn).await? else {
            return Err(RebuildStop::OutOfTime);
        };
        let batch = batch?;
        progress.applied += batch.applied as u64;
        progress.dead_letters += batch.dead_letters as u64;
        progress.request_units += meter.request_units();
        Ok(())
    }

    async fn audit(&mut self, position: Option<serde_json::Value>) -> Result<(), RebuildStop> {
        let Some(audit) = self.rebuilds.projections.audit(self.projection.function()) else {
            let done = RebuildStep::Done { ended_at: Timestamp::now() };
            return self.advance(done, self.rebuild.progress).await;
        };
        self.check_deadline()?;
        // A position of another form is that of another version: the audit begins again.
        let position: AuditPosition =
            position.and_then(|position| serde_json::from_value(position).ok()).unwrap_or_default();
        let resumes = position != AuditPosition::default();
        let deadline = Some(Instant::now() + AUDIT_SLICE);
        let pacer = Arc::clone(&self.rebuilds.background.pacer);
        let slice = AuditSlice { position, deadline, pacer };
        let audited = audit.run_slice_into_log(self.rebuilds.audit_options, slice);
        let (summary, next) = match self.holding(audited).await? {
            Err(error) if resumes && !error.is_transient() => {
                return self.begin_again(error).await;
            }
            audited => audited?,
        };
        let mut progress = self.rebuild.progress;
        progress.audited += summary.items;
        progress.findings += summary.findings;
        progress.repaired += summary.repaired;
        progress.request_units += summary.request_units;
        let step = match next {
            Some(position) => RebuildStep::Audit { position: serde_json::to_value(position).ok() },
            None => RebuildStep::Done { ended_at: Timestamp::now() },
        };
        self.advance(step, progress).await
    }

    async fn begin_again(&mut self, error: StoreError) -> Result<(), RebuildStop> {
        let projection = self.projection.function();
        let mut progress = self.rebuild.progress;
        if progress.restarts == MAX_RESTARTS {
            self.advance(RebuildStep::Failed { ended_at: Timestamp::now() }, progress).await?;
            return Err(RebuildStop::Failed(error));
        }
        tracing::warn!(projection, %error, "A step of a rebuild begins again");
        progress.restarts += 1;
        let step = if matches!(self.rebuild.step, RebuildStep::Audit { .. }) {
            RebuildStep::Audit { position: None }
        } else {
            progress.read = 0;
            RebuildStep::Sources { position: None }
        };
        self.advance(step, progress).await
    }

    async fn advance(
        &mut self,
        step: RebuildStep,
        progress: RebuildProgress,
    ) -> Result<(), RebuildStop> {
        if let Some(worker) = &mut self.rebuild.worker {
            worker.until = Timestamp::now().after(CLAIM);
        }
        self.rebuild.step = step;
        self.rebuild.progress = progress;
        self.rebuilds.save(self.projection.function(), &self.rebuild).await
    }

    async fn holding<T>(&mut self, work: impl Future<Output = T>) -> Result<T, RebuildStop> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                () = sleep(CLAIM / 3) => {
                    self.advance(self.rebuild.step.clone(), self.rebuild.progress).await?;
                }
            }
        }
    }

    fn check_deadline(&self) -> Result<(), RebuildStop> {
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(RebuildStop::OutOfTime),
            _ => Ok(()),
        }
    }
}

fn sources_query(select: &str, since: Option<Timestamp>) -> Result<Query, StoreError> {
    Ok(match since {
        None => Query::from(format!("SELECT {select} FROM c")),
        Some(since) => Query::from(format!("SELECT {select} FROM c WHERE c._ts >= @since"))
            .with_parameter("@since", since.unix_seconds())?,
    })
}

/// Returns `None` if there are too many. The SDK has no aggregates over several partitions.
async fn count(
    sources: &Container,
    since: Option<Timestamp>,
    pacer: &Pacer,
    deadline: Option<Instant>,
) -> Result<Option<u64>, StoreError> {
    let query = sources_query("VALUE 1", since)?;
    let mut pages = pin!(sources.pages::<u8>(query, Scope::Container, PAGE_COUNTED).await?);
    let mut items = 0;
    while items <= MAX_COUNTED {
        let Some(page) = pacer.run(deadline, pages.try_next()).await else { return Ok(None) };
        let Some(page) = page? else { return Ok(Some(items)) };
        items += page.len() as u64;
    }
    Ok(None)
}
