//! `AuditBlog`: the audit on a schedule, into the log.

use super::{Finding, Listener, Options, audit, report};
use crate::{
    blog::{Blog, model::Reservation},
    cosmos::StoreError,
};

/// The name of the timer function.
pub const FUNCTION: &str = "AuditBlog";

/// Audits the blog and logs every finding as a warning. It fails only when the audit itself could
/// not go on.
pub async fn audit_blog(blog: &Blog, options: Options) -> Result<(), StoreError> {
    let summary = audit(blog, options, &mut Log).await?;
    tracing::info!(
        audit.items = summary.items,
        audit.findings = summary.findings,
        audit.mended = summary.mended,
        audit.unsettled = summary.unsettled,
        request_charge_ru = summary.request_units,
        store.requests = summary.store_requests,
        duration_ms = summary.duration_ms,
        "Audited the blog: {}",
        report::in_words(&summary)
    );
    Ok(())
}

struct Log;

impl Listener for Log {
    fn findings(&mut self, findings: &[Finding]) {
        for Finding { kind, container, partition_key, id, repair, .. } in findings {
            // What is expected and found may have usernames in it, and the partition of a reservation
            // is one. `tributary audit` shows them to who may see them.
            let is_name = partition_key.starts_with(Reservation::PREFIX);
            tracing::warn!(
                audit.kind = %kind,
                audit.container = container,
                audit.partition_key = (!is_name).then_some(partition_key),
                audit.id = id,
                audit.repair = repair.as_ref().map(|repair| repair.what.as_str()),
                audit.mended = repair.as_ref().map(|repair| repair.mended),
                "The audit found a divergence"
            );
        }
    }
}
