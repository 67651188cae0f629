//! A slice of an audit: it reads the containers page by page, and settles what it suspects.

use std::{ops::ControlFlow, pin::pin, sync::Arc};

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tokio::time::Instant;

use super::{
    AuditOptions, AuditPosition, AuditSlice, AuditSummary, AuditedItem, Checks, Listener,
    MAX_CONCURRENT_CHECKS, repair::retry_transient, settle::Suspects,
};
use crate::cosmos::{Container, JsonText, Pacer, Query, QueryPosition, Scope, StoreError, metered};

const PAGE_ITEMS: u32 = 100;

pub(super) async fn run(
    checks: &dyn Checks,
    options: AuditOptions,
    AuditSlice { position, deadline, pacer }: &AuditSlice,
    listener: &mut dyn Listener,
) -> Result<(AuditSummary, Option<AuditPosition>), StoreError> {
    let begin = Instant::now();
    let mut pass = Pass {
        pacer: Arc::clone(pacer),
        deadline: *deadline,
        suspects: Suspects::new(checks, options),
        checks,
        listener,
        summary: AuditSummary::default(),
    };
    let (position, meter) = metered(pass.run(position.clone()).boxed()).await;
    let summary = AuditSummary {
        request_units: meter.request_units(),
        store_requests: meter.requests(),
        duration_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        ..pass.summary
    };
    Ok((summary, position?))
}

struct Pass<'a> {
    checks: &'a dyn Checks,
    suspects: Suspects<'a>,
    listener: &'a mut dyn Listener,
    summary: AuditSummary,
    pacer: Arc<Pacer>,
    deadline: Option<Instant>,
}

impl Pass<'_> {
    async fn run(&mut self, from: AuditPosition) -> Result<Option<AuditPosition>, StoreError> {
        let AuditPosition { part, container: first, page: mut begin } = from;
        let containers = self.checks.containers();
        for (index, (container, partition_key)) in containers.into_iter().enumerate().skip(first) {
            let audited = self.container(container, partition_key, begin.take()).boxed();
            if let ControlFlow::Break(page) = audited.await? {
                self.settle().await?;
                return Ok(Some(AuditPosition { part, container: index, page }));
            }
        }
        for group in self.checks.groups() {
            let suspects = retry_transient(|| self.checks.check_group(group)).boxed();
            self.suspects.add(self.pacer.charge(suspects).await?);
        }
        self.settle().await?;
        Ok(None)
    }

    async fn container(
        &mut self,
        container: &Container,
        partition_key: &str,
        mut position: Option<QueryPosition>,
    ) -> Result<ControlFlow<Option<QueryPosition>>, StoreError> {
        let query = Query::from("SELECT * FROM c");
        let behind = position.clone();
        let pages = container.pages_behind(query, Scope::Container, PAGE_ITEMS, behind).await?;
        let mut pages = pin!(pages);
        let pacer = Arc::clone(&self.pacer);
        let deadline = self.deadline;
        loop {
            // On the heap: the checks of a domain are large, and the stack of a thread has 2 MiB.
            let page = async {
                let Some((page, position)) = pages.try_next().await? else { return Ok(None) };
                self.check_page(container, partition_key, page).boxed().await?;
                Ok::<_, StoreError>(Some(position))
            };
            let page = page.boxed();
            let Some(checked) = pacer.run(deadline, page).await else {
                return Ok(ControlFlow::Break(position));
            };
            let Some(next) = checked? else { return Ok(ControlFlow::Continue(())) };
            position = Some(next);
            self.listener.progress(self.summary.items);
            if self.suspects.is_full() {
                self.settle().await?;
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(ControlFlow::Break(position));
            }
        }
    }

    async fn check_page(
        &mut self,
        container: &Container,
        partition_key: &str,
        page: Vec<JsonText>,
    ) -> Result<(), StoreError> {
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
        Ok(())
    }

    async fn settle(&mut self) -> Result<(), StoreError> {
        let settling = self.suspects.settle().boxed();
        let (findings, unsettled) = self.pacer.charge(settling).await?;
        let repaired = findings.iter().filter(|finding| finding.is_repaired());
        self.summary.unsettled += unsettled;
        self.summary.findings += findings.len() as u64;
        self.summary.repaired += repaired.count() as u64;
        if !findings.is_empty() {
            self.listener.findings(&findings);
        }
        Ok(())
    }
}
