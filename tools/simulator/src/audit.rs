//! The audit after quiet: its findings, and the findings after its repair.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tributary_local::host::BuiltApp;

use crate::{poison::is_poisoned, run::command_of};

/// The age at which the audit reports a reservation as leaked (docs/audit.md), and a second more.
const LEAKED_AFTER: Duration = Duration::from_secs(11);

/// Audits, repairs, and audits again. A handler that is killed, or slow, while it renames a user leaves one
/// reservation at most, so the first audit may find as many of them as `may_leak`, and nothing else. The last audit may
/// find nothing. Poisoned items do not count. Returns the number of leaked reservations and all other findings.
pub(crate) async fn audit(
    app: &BuiltApp,
    may_leak: usize,
    quiet_since: Instant,
) -> anyhow::Result<(usize, Vec<String>)> {
    tokio::time::sleep(LEAKED_AFTER.saturating_sub(quiet_since.elapsed())).await;
    let found = findings(app, &[]).await?;
    let (leaked, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|finding| finding["kind"] == "reservation-leaked");
    let unexplained = others.iter().chain(leaked.iter().skip(may_leak));
    let mut divergences: Vec<_> = unexplained.map(|finding| format!("audit: {finding}")).collect();
    for finding in findings(app, &["--repair"]).await? {
        if finding["repair"]["repaired"] != true {
            divergences.push(format!("not repaired: {finding}"));
        }
    }
    let after = findings(app, &[]).await?;
    divergences.extend(after.iter().map(|finding| format!("after the repair: {finding}")));
    Ok((leaked.len().min(may_leak), divergences))
}

/// Returns the findings of `tributary audit` as JSON, without those of poisoned items. All writes have
/// ended, so nothing has to settle.
async fn findings(app: &BuiltApp, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
    let arguments = [&["audit", "--json", "--settle", "0"], arguments].concat();
    let output = command_of(app, &arguments).await?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 1)), "the audit failed: {errors}");
    let lines = String::from_utf8_lossy(&output.stdout);
    let lines = lines.lines().map(serde_json::from_str);
    let mut lines: Vec<Value> =
        lines.collect::<Result<_, _>>().context("the audit's report is no JSON")?;
    let summary = lines.pop().unwrap_or_default();
    let summary = &summary["summary"];
    ensure!(
        summary["findings"] == lines.len() && summary["unsettled"] == 0 && summary["items"] != 0,
        "the audit's summary is not that of its findings: {summary}"
    );
    lines.retain(|finding| !is_poisoned(finding));
    Ok(lines)
}
