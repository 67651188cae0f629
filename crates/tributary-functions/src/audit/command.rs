//! The command `audit`.

use std::time::Duration;

use clap::Args;

use super::{Audit, AuditOptions, AuditSummary, report::Report};
use crate::terminal::OutputFormat;

/// The longest pause that makes sense, in seconds: a day.
const MAX_SETTLE_SECONDS: f64 = 86_400.0;

/// Reports copies, counts and names that differ from their source
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Settings, as environment variables: CosmosConnection (a connection string) or
CosmosConnection__accountEndpoint (with an identity), CosmosDatabase [default: the app's name].

Exit code: 0 nothing found, or everything repaired; 1 divergences found; 2 the audit failed.
docs/audit.md says what each kind of finding means.")]
pub(crate) struct Arguments {
    /// Audit this domain only
    #[arg(long, value_name = "NAME")]
    pub domain: Option<String>,
    /// Repair the findings, each with a guarded write
    #[arg(long)]
    repair: bool,
    /// Print one JSON object a line: the findings, then the summary
    #[arg(long)]
    json: bool,
    /// Time that the change feed may take to bring a change to every copy before a difference counts
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    settle: Duration,
}

/// Returns true if no divergence is left. An error is a sentence that says why the audit failed.
pub(crate) async fn run(audits: &[(&str, &Audit)], arguments: &Arguments) -> Result<bool, String> {
    let wanted = |name: &str| arguments.domain.as_ref().is_none_or(|wanted| wanted == name);
    let chosen: Vec<_> = audits.iter().filter(|(name, _)| wanted(name)).collect();
    if chosen.is_empty() {
        let names: Vec<&str> = audits.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no such domain: --domain takes {}", names.join(", ")));
    }
    let format = OutputFormat::for_stdout(arguments.json);
    let options = AuditOptions { settle: arguments.settle, repair: arguments.repair };
    let mut report = Report::new(format);
    let mut all = AuditSummary::default();
    for (name, audit) in chosen {
        all += audit.run(options, &mut report).await.map_err(|error| {
            format!(
                "the audit of the {name} domain could not go on, since the store refused a \
                 request: {}. Check that it can be reached and has request units left, and audit \
                 again",
                error.reason
            )
        })?;
    }
    report.end(&all).map_err(|error| format!("the report cannot be written: {error}"))?;
    Ok(all.is_clean())
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|seconds| (0.0..=MAX_SETTLE_SECONDS).contains(seconds))
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "it must be a number of seconds, 0 to 86400".into())
}
