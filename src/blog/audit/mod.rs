//! The audit: whether everything that is kept twice says the same, and mending what does not.
//!
//! It streams through `posts` and `users` page by page and looks at each item: what it counts,
//! the name on it, its copy or its post, its reservation; then at the feed. What looks wrong is
//! only a suspect: a command may be between its two writes, a change on its way through the change
//! feed. So a suspect is looked at again, several times within a pause that the change feed needs
//! ([`Options::settle`]), always the source first and then the copy. It is reported when all looks
//! have seen the same and nothing has touched the copy meanwhile; if anything has, the pause
//! begins anew.
//!
//! Memory is bounded by the page, by the suspects that wait together, and by what is remembered of
//! users and posts, of which a look may be mistaken only in raising a suspicion.
//!
//! To add a check: 1. a [`Kind`] in `finding.rs`; 2. the look, in the file of its container;
//! 3. how it is mended, in `repair.rs`, under the ETag that was read; 4. a case in
//! `tests/it/audit/divergences.rs` and a row in `docs/audit.md`.

mod finding;

mod copies;
mod feed;
mod look;
mod posts;
mod users;

mod repair;
mod repair_feed;
mod settle;

pub mod command;
mod report;
mod timer;

use std::{
    pin::pin,
    time::{Duration, Instant},
};

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use serde_json::Value;

pub use self::{
    finding::{Finding, Kind, Repair},
    timer::{FUNCTION, audit_blog},
};
use self::{look::Looker, settle::Suspects};
use super::Blog;
use crate::cosmos::{Container, Query, Scope, StoreError, metered};

/// How many items are read at a time; a page is at most 4 MB (service limit).
const PAGE: u32 = 100;

/// How many items are looked at at a time.
const LOOKS: usize = 16;

/// How an audit goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How long the change feed may take to bring a change to every copy.
    pub settle: Duration,
    /// Whether to mend what is found.
    pub repair: bool,
}

/// What an audit has done.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Items read page by page.
    pub items: u64,
    /// Divergences found.
    pub findings: u64,
    /// Those that were mended.
    pub mended: u64,
    /// Suspects that never stood still, and so were not reported.
    pub unsettled: u64,
    /// Request units charged by the store.
    pub request_units: f64,
    /// Requests sent to the store.
    pub store_requests: u64,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Who wants to hear of an audit while it runs.
pub trait Listener: Send {
    /// Some divergences; at most a thousand at a time, and those of one page.
    fn findings(&mut self, findings: &[Finding]);

    /// So many items were read so far.
    fn progress(&mut self, _items: u64) {}
}

impl Default for Options {
    fn default() -> Self {
        Self { settle: Duration::from_secs(20), repair: false }
    }
}

impl Summary {
    /// Whether everything is as it should be now.
    pub fn is_clean(&self) -> bool {
        self.findings == self.mended
    }
}

/// Audits a blog. An error means that the audit itself could not go on.
pub async fn audit(
    blog: &Blog,
    options: Options,
    listener: &mut dyn Listener,
) -> Result<Summary, StoreError> {
    let begin = Instant::now();
    let looker = Looker::new(blog.clone());
    let mut audit = Audit {
        suspects: Suspects::new(&looker, options),
        looker: &looker,
        listener,
        summary: Summary::default(),
    };
    let (result, meter) = metered(audit.run()).await;
    result?;
    Ok(Summary {
        request_units: meter.request_units(),
        store_requests: meter.requests(),
        duration_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..audit.summary
    })
}

struct Audit<'a> {
    looker: &'a Looker,
    suspects: Suspects<'a>,
    listener: &'a mut dyn Listener,
    summary: Summary,
}

impl Audit<'_> {
    async fn run(&mut self) -> Result<(), StoreError> {
        for container in [&self.looker.blog.posts, &self.looker.blog.users] {
            self.container(container).await?;
        }
        let suspects = settle::patiently(|| self.looker.look_at_feed()).await?;
        self.suspects.add(suspects);
        self.settle().await
    }

    async fn container(&mut self, container: &Container) -> Result<(), StoreError> {
        let query = Query::from("SELECT * FROM c");
        let mut pages = pin!(container.pages::<Value>(query, Scope::Container, PAGE).await?);
        while let Some(page) = pages.try_next().await? {
            self.summary.items += page.len() as u64;
            let looker = self.looker;
            let looks = page.into_iter().map(async |item: Value| {
                settle::patiently(|| looker.look(container, &item, false)).await
            });
            let mut looks = stream::iter(looks).buffer_unordered(LOOKS);
            while let Some(suspects) = looks.try_next().await? {
                self.suspects.add(suspects);
            }
            self.listener.progress(self.summary.items);
            if self.suspects.are_many() {
                self.settle().await?;
            }
        }
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), StoreError> {
        let settled = self.suspects.settle().await?;
        let mended = |finding: &&Finding| finding.repair.as_ref().is_some_and(|r| r.mended);
        self.summary.unsettled += settled.unsettled;
        self.summary.findings += settled.findings.len() as u64;
        self.summary.mended += settled.findings.iter().filter(mended).count() as u64;
        if !settled.findings.is_empty() {
            self.listener.findings(&settled.findings);
        }
        Ok(())
    }
}
