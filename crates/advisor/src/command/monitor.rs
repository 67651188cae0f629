//! `tributary-partition monitor`.

use std::{
    io::{IsTerminal, Write, stderr, stdout},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context, ensure};
use clap::Args;
use tributary_partition::monitor::{
    ContainerScan, LiveContainer, PartitionMetrics, RequestTelemetry, ScanLimits,
};

use super::live_container::ContainerArguments;

/// Clears a terminal, and goes to its first line.
const CLEAR_SCREEN: &str = "\x1b[2J\x1b[H";

/// Reports the sizes and the use of the partitions of a live container.
///
/// The scan reads the items, which costs request units: about 0.3 for each KB by the model of Tributary's local
/// endpoint. --max-request-units and --sample bound them. Where the account has priorities, all requests have the
/// low one.
///
/// Exit code: 0; 1 when something is wrong (not with --watch); 2 for input that cannot be used.
#[derive(Debug, Args)]
pub(crate) struct MonitorArguments {
    #[command(flatten)]
    live: ContainerArguments,

    /// The most items to report on, drawn from all over the container by the ends of their ids.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    sample: Option<u64>,

    /// The request units of all scans together. The scan that reaches them is the last.
    #[arg(long, value_name = "RU")]
    max_request_units: Option<f64>,

    /// The telemetry of the requests: lines of Tributary's handler, or rows of the diagnostic tables
    /// CDBPartitionKeyRUConsumption, CDBPartitionKeyStatistics, CDBQueryRuntimeStatistics, as CSV or JSON. Can
    /// be given several times.
    #[arg(long, value_name = "FILE")]
    telemetry: Vec<PathBuf>,

    /// Repeat until Ctrl-C, with this pause in seconds: the page is redrawn on a terminal, and a line is printed
    /// elsewhere.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "60",
        value_parser = clap::value_parser!(u64).range(1..))]
    watch: Option<u64>,

    /// Print JSON; with --watch an object a line.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &MonitorArguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("no thread can be started")?;
    runtime.block_on(async {
        tokio::select! {
            is_wrong = monitor(arguments) => Ok(u8::from(is_wrong?).into()),
            // Ctrl-C is the end of a watch. A single scan has no result then.
            _ = tokio::signal::ctrl_c() => Ok(if arguments.watch.is_some() { 0 } else { 2 }.into()),
        }
    })
}

/// Returns true when there is a warning. A watch always returns false.
async fn monitor(arguments: &MonitorArguments) -> anyhow::Result<bool> {
    let most = arguments.max_request_units;
    ensure!(most.is_none_or(|most| most > 0.0), "--max-request-units must be more than 0");
    let container = arguments.live.open().await?;
    let mut spent = 0.0;
    let mut rounds = 0_u64;
    loop {
        let left = most.map(|most| most - spent);
        let limits = ScanLimits { items: arguments.sample, request_units: left };
        let measured = measure(&container, limits, &arguments.telemetry, &mut spent).await;
        let Some(seconds) = arguments.watch else {
            let metrics = measured?;
            print(&rendered(&metrics, arguments)?)?;
            return Ok(metrics.has_warning());
        };
        match measured {
            Ok(metrics) => print(&rendered(&metrics, arguments)?)?,
            // A watch continues: the store may be unavailable for a while, and a file half written.
            Err(error) if rounds > 0 => say(&format!("error: {error:#}")),
            Err(error) => return Err(error),
        }
        if most.is_some_and(|most| spent >= most) {
            say(&format!("--max-request-units is reached: {spent:.2}"));
            return Ok(false);
        }
        rounds += 1;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

/// Scans the container, and adds the costs to `spent`, also when the scan fails.
async fn measure(
    container: &LiveContainer,
    limits: ScanLimits,
    files: &[PathBuf],
    spent: &mut f64,
) -> anyhow::Result<PartitionMetrics> {
    let telemetry = (!files.is_empty()).then(|| RequestTelemetry::read(files, container.id()));
    let mut telemetry = telemetry.transpose()?;
    let is_seen = stderr().is_terminal();
    let before = *spent;
    let progress = |scan: &ContainerScan| {
        *spent = before + scan.request_units;
        if is_seen {
            let items = scan.items;
            let units = scan.request_units;
            let _ = write!(stderr(), "\r{items} items, {units:.0} request units ");
        }
    };
    let scanned = container.scan(limits, telemetry.as_mut(), progress).await;
    if is_seen {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    let (scan, items) = scanned?;
    Ok(PartitionMetrics::new(container, scan, items, telemetry))
}

fn rendered(metrics: &PartitionMetrics, arguments: &MonitorArguments) -> anyhow::Result<String> {
    let is_repeated = arguments.watch.is_some();
    Ok(match (arguments.json, is_repeated, stdout().is_terminal()) {
        (true, false, _) => serde_json::to_string_pretty(metrics)? + "\n",
        (true, true, _) => serde_json::to_string(metrics)? + "\n",
        (false, true, false) => metrics.line() + "\n",
        (false, true, true) => format!("{CLEAR_SCREEN}{metrics}"),
        (false, false, _) => metrics.to_string(),
    })
}

/// Writes a line to stderr. A closed stderr is not an error.
pub(super) fn say(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

/// Prints to stdout. A closed pipe, such as that of `head`, ends the program.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        result => result.context("the result cannot be printed"),
    }
}
