//! After quiet: what the audit finds, and what is left after its repair.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use azure_data_cosmos::DatabaseClient;
use serde_json::Value;
use tributary_local::host::BuiltApp;
use tributary_simulator::Workload;

use crate::poison::is_poisoned;

/// How old a reservation must be for the audit to call it leaked (docs/audit.md), and a bit.
const LEAKED_AFTER: Duration = Duration::from_secs(11);

/// What the audits of a seed came to.
pub(crate) struct Audited {
    /// Findings that chaos explains: what killed handlers left behind.
    pub(crate) explained: usize,
    /// Everything else that was found, and what a repair did not mend, a sentence each.
    pub(crate) divergences: Vec<String>,
}

/// Audits, repairs, and audits again. The first audit may find what the workload explains, and
/// nothing else; the last may find nothing. What is poisoned does not count.
pub(crate) async fn audit(
    app: &BuiltApp,
    database: &DatabaseClient,
    model: &impl Workload,
    quiet_since: Instant,
) -> anyhow::Result<Audited> {
    tokio::time::sleep(LEAKED_AFTER.saturating_sub(quiet_since.elapsed())).await;
    let mut found = findings(app, &[]).await?;
    found.retain(|finding| !is_poisoned(finding));
    let mut divergences = model.unexplained(database, &found).await?;
    let explained = found.len().saturating_sub(divergences.len());

    for finding in findings(app, &["--repair"]).await? {
        if finding["repair"]["repaired"] != true && !is_poisoned(&finding) {
            divergences.push(format!("not repaired: {finding}"));
        }
    }
    let after = findings(app, &[]).await?;
    let after = after.iter().filter(|finding| !is_poisoned(finding));
    divergences.extend(after.map(|finding| format!("after the repair: {finding}")));
    Ok(Audited { explained, divergences })
}

/// What `tributary audit` finds, as JSON. Nothing moves any more, so nothing has to settle.
async fn findings(app: &BuiltApp, arguments: &[&str]) -> anyhow::Result<Vec<Value>> {
    let output = tokio::process::Command::new(app.executable())
        .args(["audit", "--json", "--settle", "0"])
        .args(arguments)
        .envs(app.settings.iter())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("the audit cannot be started")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(matches!(output.status.code(), Some(0 | 1)), "the audit failed: {errors}");
    let lines = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<Value> = lines
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .context("the audit's report is no JSON")?;
    let summary = lines.pop().unwrap_or_default();
    let summary = &summary["summary"];
    ensure!(
        summary["findings"] == lines.len() && summary["unsettled"] == 0 && summary["items"] != 0,
        "the audit's summary is not that of its findings: {summary}"
    );
    Ok(lines)
}
