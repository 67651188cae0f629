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
pub(crate) mod command;
mod compare;
mod copies;
mod finding;
mod item;
mod pass;
mod repair;
mod report;
mod settle;
mod unique;
mod window;

use std::{ops::AddAssign, sync::Arc, time::Duration};

pub use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use self::{aggregate::AggregateChecks, compare::compare};
pub use self::{
    compare::version_text,
    copies::CopiesChecks,
    finding::{
        CheckResult, CheckResults, Finding, FindingKind, Obstacle, RepairResult, Suspect, Target,
    },
    item::{AuditedItem, ReferencedItem, ReferencedItems, Slot, read_slot},
    unique::UniqueChecks,
    window::WindowChecks,
};
use crate::{
    cosmos::{Container, Pacer, QueryPosition, StoreError},
    engines::unique_claim::UniqueValues,
    projection::{
        aggregate::{Aggregate, AggregateProjection},
        copies::{AuditedCopies, CopyProjection},
    },
};

const MAX_CONCURRENT_CHECKS: usize = 16;

/// The checks of a domain's audit. One value serves one audit, so it may remember.
#[async_trait]
pub trait Checks: Send + Sync {
    /// Returns the names of checks of many items that no single item stands for, such as the members of a list.
    fn groups(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the containers that the audit reads from end to end, each with its partition key.
    fn containers(&self) -> Vec<(&Container, &'static str)>;

    /// Reads what the checks of a page need, in some queries instead of some reads for each item.
    async fn read_page(&self, _page: &[AuditedItem]) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns the suspects of an item and of all derived from it. A `fresh` check uses nothing that was read before.
    async fn check_item(&self, item: &AuditedItem, fresh: bool) -> CheckResults;

    /// Returns the suspects of one of [`Self::groups`].
    async fn check_group(&self, _group: &'static str) -> CheckResults {
        Ok(Vec::new())
    }

    /// Repairs a divergence by one guarded write or transaction. Returns the action in words.
    async fn repair(&self, suspect: &Suspect) -> RepairResult;

    /// Returns false if the partition key of a finding is personal: then the log leaves it out.
    fn may_log_partition_key(&self, _partition_key: &str) -> bool {
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
    parts: Vec<Arc<dyn Fn() -> Box<dyn Checks> + Send + Sync>>,
}

/// Settings of an audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditOptions {
    /// The time that the change feed may take to bring a change to every copy.
    pub settle: Duration,
    /// True to repair the findings.
    pub repair: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct AuditSlice {
    pub position: AuditPosition,
    /// The time after which the slice ends with its page; its suspects may take four pauses more
    /// ([`AuditOptions::settle`]).
    pub deadline: Option<Instant>,
    /// Lets each page wait until the earlier ones are paid. The repairs of a page are paid by the next.
    pub pacer: Arc<Pacer>,
}

impl Default for AuditSlice {
    fn default() -> Self {
        let pacer = Arc::new(Pacer::new(None));
        Self { position: AuditPosition::default(), deadline: None, pacer }
    }
}

/// The part of an audit, the container of the part, and the page from which a slice goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AuditPosition {
    part: usize,
    container: usize,
    page: Option<QueryPosition>,
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

impl Listener for Vec<Finding> {
    fn findings(&mut self, findings: &[Finding]) {
        self.extend_from_slice(findings);
    }
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
    pub fn new<C: Checks + 'static>(
        function: &'static str,
        schedule: &'static str,
        checks: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        Self { function, schedule, parts: Vec::new() }.and(checks)
    }

    /// Creates the audit of a domain whose aggregate is all that there is to check.
    pub fn of_aggregate<A: Aggregate>(
        function: &'static str,
        schedule: &'static str,
        sources: &Container,
        totals: &Container,
    ) -> Self {
        let [sources, totals] = [sources, totals].map(Container::clone);
        let projection = move || AggregateProjection::<A>::new(&sources, &totals);
        Self::new(function, schedule, move || AggregateChecks(projection()))
    }

    /// Creates the audit of a domain whose copies are all that there is to check.
    pub fn of_copies<C: AuditedCopies>(
        function: &'static str,
        schedule: &'static str,
        sources: &Container,
        copies: &Container,
    ) -> Self {
        let [sources, copies] = [sources, copies].map(Container::clone);
        let projection = move || CopyProjection::<C>::new(&sources, &copies);
        Self::new(function, schedule, move || CopiesChecks(projection()))
    }

    /// Creates the audit of a domain whose unique values are all that there is to check.
    pub fn of_unique_values<T: UniqueValues>(
        function: &'static str,
        schedule: &'static str,
        owners: &Container,
    ) -> Self {
        let owners = owners.clone();
        Self::new(function, schedule, move || UniqueChecks::<T>::new(&owners))
    }

    /// Returns the audit with more checks. They run after its own.
    #[must_use]
    pub fn and<C: Checks + 'static>(
        mut self,
        checks: impl Fn() -> C + Send + Sync + 'static,
    ) -> Self {
        self.parts.push(Arc::new(move || Box::new(checks())));
        self
    }

    #[must_use]
    pub(crate) fn and_audit(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    /// Audits the domain. An error means that the audit itself could not go on.
    pub async fn run(
        &self,
        options: AuditOptions,
        listener: &mut dyn Listener,
    ) -> Result<AuditSummary, StoreError> {
        let (summary, _) = self.run_slice(options, AuditSlice::default(), listener).await?;
        Ok(summary)
    }

    /// Returns the position from which the next slice goes on; `None` at the end of the audit.
    pub(crate) async fn run_slice(
        &self,
        options: AuditOptions,
        mut slice: AuditSlice,
        listener: &mut dyn Listener,
    ) -> Result<(AuditSummary, Option<AuditPosition>), StoreError> {
        let mut all = AuditSummary::default();
        for (index, part) in self.parts.iter().enumerate().skip(slice.position.part) {
            let (summary, next) = pass::run(&*part(), options, &slice, listener).await?;
            all += summary;
            if next.is_some() {
                return Ok((all, next));
            }
            slice.position = AuditPosition { part: index + 1, ..AuditPosition::default() };
        }
        Ok((all, None))
    }
}
