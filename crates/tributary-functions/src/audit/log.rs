//! The audit as a timer function, into the log.

use super::{
    Audit, AuditOptions, AuditPosition, AuditSlice, AuditSummary, Finding, Listener, report,
};
use crate::cosmos::StoreError;

impl Audit {
    /// Audits the domain and logs each finding as a warning. Fails only if the audit itself could not
    /// continue.
    pub(crate) async fn run_into_log(&self, options: AuditOptions) -> Result<(), StoreError> {
        let (summary, _) = self.run_slice_into_log(options, AuditSlice::default()).await?;
        tracing::info!(
            audit.items = summary.items,
            audit.findings = summary.findings,
            audit.repaired = summary.repaired,
            audit.unsettled = summary.unsettled,
            request_charge_ru = summary.request_units,
            store.requests = summary.store_requests,
            duration_ms = summary.duration_ms,
            "Audited: {}",
            report::summary_line(&summary)
        );
        Ok(())
    }

    /// Audits the domain for a slice of time, and logs each finding as a warning.
    pub(crate) async fn run_slice_into_log(
        &self,
        options: AuditOptions,
        slice: AuditSlice<AuditPosition>,
    ) -> Result<(AuditSummary, Option<AuditPosition>), StoreError> {
        let mut log = LogListener { may_log_partition_key: &self.may_log_partition_key };
        self.run_slice(options, slice, &mut log).await
    }
}

struct LogListener<'a> {
    may_log_partition_key: &'a [fn(&str) -> bool],
}

impl Listener for LogListener<'_> {
    fn findings(&mut self, findings: &[Finding]) {
        for Finding { kind, container, partition_key, id, repair, .. } in findings {
            let may_log = self.may_log_partition_key.iter().all(|may_log| may_log(partition_key));
            // The expected and the found value may have names of people in them. Only the command
            // `audit` shows them: its operator may see them.
            tracing::warn!(
                audit.kind = %kind,
                audit.container = container,
                audit.partition_key = may_log.then_some(partition_key),
                audit.id = id,
                audit.repair = repair.as_ref().map(|repair| repair.what.as_str()),
                audit.repaired = repair.as_ref().map(|repair| repair.repaired),
                "The audit found a divergence"
            );
        }
    }
}
