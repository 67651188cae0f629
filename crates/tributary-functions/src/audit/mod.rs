//! The audit engine: it compares values that are stored more than once, and repairs those that differ.
//!
//! A domain implements [`Checks`]. The engine reads the domain's containers page by page and checks each
//! item; then it runs the checks of many items.
//!
//! 1. A divergence is a [`Suspect`] at first: a command may be between its two writes, or a change may
//!    be on its way through the change feed.
//! 2. The engine checks a suspect again, several times within the pause that the change feed needs
//!    ([`AuditOptions::settle`]). A check reads the source first and the copy after it.
//! 3. A suspect becomes a [`Finding`] when all checks agree and the copy has not changed meanwhile.
//!    After a change of the copy, the pause begins anew.
//! 4. A repair writes under the ETag, or the absence, of the item that it replaces. Then the engine
//!    checks the item again.
//!
//! Memory is bounded by the page, by the suspects that wait together, and by the items that the checks
//! remember. A remembered item may be old: that can raise a suspicion and never clear one.
//!
//! To add a check: 1. a [`FindingKind`] of the domain, unless one of [`FindingKind::SHARED`] fits; 2. the
//! suspicion, in [`Checks::check_item`] or [`Checks::check_group`]; 3. its repair in
//! [`Checks::repair`], under the ETag that was read; 4. a story in `tests/it/` and a row in
//! `docs/audit.md`.

mod aggregate;
mod compare;
mod counts;
mod finding;
mod item;
mod referenced;
mod window;

mod recheck;
mod repair;
mod settle;

pub mod command;
mod log;
mod report;

use std::{
    ops::AddAssign,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{FutureExt, StreamExt, TryStreamExt, future::BoxFuture, stream};
use serde::Serialize;
use serde_json::Value;

use self::settle::Suspects;
pub use self::{
    aggregate::AggregateChecks,
    compare::{compare, version_text},
    finding::{CheckResult, Finding, FindingKind, Repair, Suspect, Target},
    item::{AuditedItem, Slot, read_slot},
    recheck::retry_transient,
    referenced::{ReferencedItem, ReferencedItems},
    repair::{Obstacle, RepairResult},
    window::WindowChecks,
};
use crate::{
    cosmos::{Container, Query, Scope, StoreError, metered},
    projection::aggregate::Aggregate,
};

/// The items that are read at a time; a page is at most 4 MB (service limit).
const PAGE_ITEMS: u32 = 100;

/// The items that are checked at a time.
const MAX_CONCURRENT_CHECKS: usize = 16;

/// The checks of a domain's audit. One value serves one audit, so it may remember.
pub trait Checks: Send + Sync + 'static {
    /// Checks of many items that no single item stands for, such as the members of a list.
    const GROUPS: &'static [&'static str] = &[];

    /// Returns the containers that the audit reads from end to end, each with the property that is
    /// its partition key.
    fn containers(&self) -> Vec<(&Container, &'static str)>;

    /// Reads the items that the checks of a page need: some queries instead of some reads for each item.
    /// The engine calls it after the page is read, and only for checks that are not `fresh`.
    fn read_page(
        &self,
        _page: &[AuditedItem],
    ) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Returns the suspects of an item of one of the containers, and of everything derived from it. A
    /// `fresh` check uses nothing that was read before.
    fn check_item(
        &self,
        item: &AuditedItem,
        fresh: bool,
    ) -> impl Future<Output = Result<Vec<Suspect>, StoreError>> + Send;

    /// Returns the suspects of one of [`Self::GROUPS`].
    fn check_group(
        &self,
        _group: &'static str,
    ) -> impl Future<Output = Result<Vec<Suspect>, StoreError>> + Send {
        async { Ok(Vec::new()) }
    }

    /// Repairs a divergence by one guarded write or transaction. Returns the action in words.
    fn repair(&self, suspect: &Suspect) -> impl Future<Output = RepairResult> + Send;

    /// Returns false if the partition key of a finding is personal: then the log leaves it out.
    fn may_log_partition_key(_partition_key: &str) -> bool {
        true
    }
}

/// The audit of a domain. Cloning is cheap.
#[derive(Clone)]
pub struct Audit {
    /// The timer function, in `functions/`.
    pub function: &'static str,
    /// The times of its runs, as an NCRONTAB expression: `0 0 3 * * 0`.
    pub schedule: &'static str,
    run: Arc<AuditRun>,
    may_log_partition_key: fn(&str) -> bool,
}

type AuditRun = dyn for<'a> Fn(
        AuditOptions,
        &'a mut dyn Listener,
    ) -> BoxFuture<'a, Result<AuditSummary, StoreError>>
    + Send
    + Sync;

/// Settings of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditOptions {
    /// The time that the change feed may take to bring a change to every copy.
    pub settle: Duration,
    /// True to repair the findings.
    pub repair: bool,
}

/// The result of an audit.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditSummary {
    /// Items read page by page.
    pub items: u64,
    /// Divergences found.
    pub findings: u64,
    /// Those that were repaired.
    pub repaired: u64,
    /// Suspects that kept changing, and so were not reported.
    pub unsettled: u64,
    /// Request units charged by the store.
    pub request_units: f64,
    /// Requests sent to the store.
    pub store_requests: u64,
    /// The duration, in milliseconds.
    pub duration_ms: u64,
}

/// Receives the findings of an audit while it runs.
pub trait Listener: Send {
    /// Receives divergences: at most a thousand, and those of one page, at a time.
    fn findings(&mut self, findings: &[Finding]);

    /// Receives the number of items read so far.
    fn progress(&mut self, _items: u64) {}
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self { settle: Duration::from_secs(20), repair: false }
    }
}

impl AuditSummary {
    /// Returns true if no divergence is left.
    pub fn is_clean(&self) -> bool {
        self.findings == self.repaired
    }
}

impl AddAssign for AuditSummary {
    fn add_assign(&mut self, other: Self) {
        self.items += other.items;
        self.findings += other.findings;
        self.repaired += other.repaired;
        self.unsettled += other.unsettled;
        self.request_units += other.request_units;
        self.store_requests += other.store_requests;
        self.duration_ms += other.duration_ms;
    }
}

impl Audit {
    /// Creates the audit of a domain; `checks` makes the checks of one audit.
    pub fn new<C: Checks>(
        function: &'static str,
        schedule: &'static str,
        checks: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        Self {
            function,
            schedule,
            run: Arc::new(move |options, listener| run(checks(), options, listener).boxed()),
            may_log_partition_key: C::may_log_partition_key,
        }
    }

    /// Creates the audit of a domain whose aggregate is all that there is to check.
    pub fn of_aggregate<A: Aggregate>(
        function: &'static str,
        schedule: &'static str,
        sources: &Container,
        totals: &Container,
    ) -> Self {
        let sources = sources.clone();
        let totals = totals.clone();
        Self::new(function, schedule, move || AggregateChecks::<A>::new(&sources, &totals))
    }

    /// Returns the audit with the checks of an aggregate. They run after its own.
    #[must_use]
    pub fn and_aggregate<A: Aggregate>(self, sources: &Container, totals: &Container) -> Self {
        let sources = sources.clone();
        let totals = totals.clone();
        self.and(move || AggregateChecks::<A>::new(&sources, &totals))
    }

    /// Returns the audit with more checks. They run after its own.
    #[must_use]
    pub fn and<C: Checks>(self, checks: impl Fn() -> C + Send + Sync + 'static) -> Self {
        let before = self.run;
        let checks = Arc::new(checks);
        let both: Arc<AuditRun> = Arc::new(move |options, listener| {
            let before = Arc::clone(&before);
            let checks = Arc::clone(&checks);
            async move {
                let mut summary = before(options, listener).await?;
                summary += run(checks(), options, listener).await?;
                Ok(summary)
            }
            .boxed()
        });
        Self { run: both, ..self }
    }

    /// Audits the domain. An error means that the audit itself could not go on.
    pub async fn run(
        &self,
        options: AuditOptions,
        listener: &mut dyn Listener,
    ) -> Result<AuditSummary, StoreError> {
        (self.run)(options, listener).await
    }
}

async fn run<C: Checks>(
    checks: C,
    options: AuditOptions,
    listener: &mut dyn Listener,
) -> Result<AuditSummary, StoreError> {
    let begin = Instant::now();
    let mut pass = Pass {
        suspects: Suspects::new(&checks, options),
        checks: &checks,
        listener,
        summary: AuditSummary::default(),
    };
    let (result, meter) = metered(pass.run()).await;
    result?;
    Ok(AuditSummary {
        request_units: meter.request_units(),
        store_requests: meter.requests(),
        duration_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..pass.summary
    })
}

/// One audit under way.
struct Pass<'a, C> {
    checks: &'a C,
    suspects: Suspects<'a, C>,
    listener: &'a mut dyn Listener,
    summary: AuditSummary,
}

impl<C: Checks> Pass<'_, C> {
    async fn run(&mut self) -> Result<(), StoreError> {
        for (container, partition_key) in self.checks.containers() {
            self.container(container, partition_key).await?;
        }
        for group in C::GROUPS {
            let suspects = retry_transient(|| self.checks.check_group(group)).await?;
            self.suspects.add(suspects);
        }
        self.settle().await
    }

    async fn container(
        &mut self,
        container: &Container,
        partition_key: &str,
    ) -> Result<(), StoreError> {
        let query = Query::from("SELECT * FROM c");
        let mut pages = pin!(container.pages::<Value>(query, Scope::Container, PAGE_ITEMS).await?);
        while let Some(page) = pages.try_next().await? {
            self.summary.items += page.len() as u64;
            let checks = self.checks;
            let audited = |item| AuditedItem::new(container.id(), partition_key, item);
            let page: Vec<AuditedItem> = page.into_iter().map(audited).collect();
            retry_transient(|| checks.read_page(&page)).await?;
            let checked = page.into_iter().map(async |item: AuditedItem| {
                retry_transient(|| checks.check_item(&item, false)).await
            });
            let mut checked = stream::iter(checked).buffer_unordered(MAX_CONCURRENT_CHECKS);
            while let Some(suspects) = checked.try_next().await? {
                self.suspects.add(suspects);
            }
            self.listener.progress(self.summary.items);
            if self.suspects.is_full() {
                self.settle().await?;
            }
        }
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), StoreError> {
        let settled = self.suspects.settle().await?;
        let repaired = settled.findings.iter().filter(|one| one.is_repaired());
        self.summary.unsettled += settled.unsettled;
        self.summary.findings += settled.findings.len() as u64;
        self.summary.repaired += repaired.count() as u64;
        if !settled.findings.is_empty() {
            self.listener.findings(&settled.findings);
        }
        Ok(())
    }
}
