//! The report of the command `audit`: a table for people, JSON lines for programs.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    time::{Duration, Instant},
};

use super::{
    Audit, AuditOptions, AuditPosition, AuditSlice, AuditSummary, Checks, Finding, Listener,
};
use crate::{
    cosmos::StoreError,
    terminal::{GREEN, OutputFormat, RED, json_lines, table},
};

const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

pub(super) struct Report {
    format: OutputFormat,
    begin: Instant,
    last_progress: Instant,
    write_error: Option<io::Error>,
}

impl Report {
    pub(super) fn new(format: OutputFormat) -> Self {
        let now = Instant::now();
        Self { format, begin: now, last_progress: now, write_error: None }
    }

    pub(super) fn end(mut self, summary: &AuditSummary) -> io::Result<()> {
        if let Some(error) = self.write_error.take() {
            return Err(error);
        }
        let line = match self.format {
            OutputFormat::Json => serde_json::json!({"summary": summary}).to_string(),
            OutputFormat::Plain | OutputFormat::Colours => summary_line(summary),
        };
        writeln!(io::stdout(), "{line}")
    }
}

impl Listener for Report {
    fn findings(&mut self, findings: &[Finding]) {
        let text = match self.format {
            OutputFormat::Json => json_lines(findings),
            format => findings_table(findings, format == OutputFormat::Colours),
        };
        if let Err(error) = io::stdout().write_all(text.as_bytes()) {
            self.write_error.get_or_insert(error);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate needs no 53 bits")]
    fn progress(&mut self, items: u64) {
        if self.last_progress.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        self.last_progress = Instant::now();
        let rate = items as f64 / self.begin.elapsed().as_secs_f64();
        // A closed stderr is not an error.
        let _ = writeln!(io::stderr(), "{items} items read, {rate:.0} a second");
    }
}

fn summary_line(summary: &AuditSummary) -> String {
    let AuditSummary { items, findings, repaired, unsettled, request_units, duration_ms, .. } =
        summary;
    let mut line = match findings {
        0 => "No divergences".to_owned(),
        1 => "1 divergence".to_owned(),
        _ => format!("{findings} divergences"),
    };
    if *repaired > 0 {
        let _ = write!(line, ", {repaired} repaired");
    }
    if *unsettled > 0 {
        let _ = write!(line, ", {unsettled} suspects that kept changing");
    }
    let seconds = Duration::from_millis(*duration_ms).as_secs_f64();
    let _ = write!(
        line,
        " in {items} items; {request_units:.2} request units, {} store requests, {seconds:.1} s",
        summary.store_requests
    );
    line
}

fn findings_table(findings: &[Finding], has_colours: bool) -> String {
    let n_columns =
        COLUMNS.len() - usize::from(findings.iter().all(|finding| finding.repair.is_none()));
    let row = |finding: &Finding| {
        (if finding.is_repaired() { GREEN } else { RED }, cells(finding).into())
    };
    table(&COLUMNS[..n_columns], findings.iter().map(row), has_colours)
}

const COLUMNS: [&str; 7] =
    ["KIND", "CONTAINER", "PARTITION KEY", "ID", "EXPECTED", "FOUND", "REPAIR"];

fn cells(finding: &Finding) -> [String; 7] {
    let repair = finding.repair.as_ref().map_or_else(String::new, |repair| {
        if repair.repaired { repair.what.clone() } else { format!("not repaired: {}", repair.what) }
    });
    let Finding { kind, container, partition_key, id, expected, found, .. } = finding;
    [kind.name, container, partition_key, id, expected, found, &repair].map(str::to_owned)
}

impl Audit {
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
            summary_line(&summary)
        );
        Ok(())
    }

    pub(crate) async fn run_slice_into_log(
        &self,
        options: AuditOptions,
        slice: AuditSlice,
    ) -> Result<(AuditSummary, Option<AuditPosition>), StoreError> {
        let mut log = LogListener(self.parts.iter().map(|part| part()).collect());
        self.run_slice(options, slice, &mut log).await
    }
}

struct LogListener(Vec<Box<dyn Checks>>);

impl Listener for LogListener {
    fn findings(&mut self, findings: &[Finding]) {
        for Finding { kind, container, partition_key, id, repair, .. } in findings {
            let may_log = self.0.iter().all(|checks| checks.may_log_partition_key(partition_key));
            // The expected and the found value may have names of people in them. Only the command
            // `audit` shows them: its operator may see them.
            tracing::warn!(
                audit.kind = kind.name,
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
