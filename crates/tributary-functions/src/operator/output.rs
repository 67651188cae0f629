//! What the command `projections` writes.

use std::{
    io::{self, Write},
    time::Duration,
};

use super::{LeaseView, ProjectionView, ReleasedLease};
use crate::{
    http::{ApiError, Refusal},
    projection::{
        control::ProjectionStatus,
        lag::{LagSummary, LeaseStatus},
    },
    terminal::{OutputFormat, RED, YELLOW, json_lines, table, word},
    values::Timestamp,
};

pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

pub(super) fn print(views: &[ProjectionView], format: OutputFormat) -> Result<(), String> {
    write(&match format {
        OutputFormat::Json => json_lines(views),
        _ => projections_table(views, format == OutputFormat::Colours),
    })
}

pub(super) fn print_status(view: ProjectionView, format: OutputFormat) -> Result<(), String> {
    let leases = leases_table(view.leases.as_deref().unwrap_or_default());
    print(&[view], format)?;
    if format == OutputFormat::Json { Ok(()) } else { write(&leases) }
}

pub(super) fn print_released(released: ReleasedLease, format: OutputFormat) -> Result<(), String> {
    let owner = released.former_owner.as_deref().unwrap_or("none");
    let text = format!("Lease {} is released. Its owner was: {owner}.\n", released.lease);
    write(&if format == OutputFormat::Json { json_lines(&[released]) } else { text })
}

pub(super) fn write(text: &str) -> Result<(), String> {
    let mut out = io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(closed)
}

pub(super) fn sentence(error: ApiError) -> String {
    Refusal::from(error).detail
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
pub(super) fn closed(error: io::Error) -> String {
    format!("the result cannot be written: {error}")
}

fn projections_table(views: &[ProjectionView], has_colours: bool) -> String {
    let now = Timestamp::now();
    let row = |view: &ProjectionView| (colour(view), cells(view, now).into());
    let columns = ["NAME", "CONTAINER", "STATUS", "LAG", "SINCE", "DETAIL"];
    table(&columns, views.iter().map(row), has_colours)
}

fn leases_table(leases: &[LeaseView]) -> String {
    let now = Timestamp::now();
    let text = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let row = |lease: &LeaseView| {
        let waiting = lease.seconds.filter(|_| lease.status != LeaseStatus::Current);
        let last_write = format!("{} ago", age(now.millis_since(lease.written_at) / 1_000));
        let cells = [
            lease.lease.clone(),
            word(&lease.status),
            text(lease.changes),
            waiting.map(age).unwrap_or_default(),
            last_write,
            lease.owner.clone().unwrap_or_else(|| "none".to_owned()),
            lease.advice.unwrap_or_default().to_owned(),
        ];
        ("", cells.into())
    };
    let columns = ["LEASE", "STATUS", "CHANGES", "WAITING", "LAST WRITE", "OWNER", "WHAT TO DO"];
    table(&columns, leases.iter().map(row), false)
}

fn lag(lag: &LagSummary) -> String {
    let LagSummary { changes, seconds, leases, stopped_leases, unmeasured_leases } = *lag;
    let waiting = match changes {
        _ if leases == 0 => "no leases".to_owned(),
        0 if unmeasured_leases >= leases => "?".to_owned(),
        0 => "0".to_owned(),
        _ => format!("{changes} for {}", age(seconds)),
    };
    if stopped_leases == 0 { waiting } else { format!("{waiting}, {stopped_leases} stopped") }
}

fn colour(view: &ProjectionView) -> &'static str {
    match view.status {
        _ if view.lag.is_some_and(|lag| lag.stopped_leases > 0) => RED,
        ProjectionStatus::Paused | ProjectionStatus::Rebuilding => YELLOW,
        ProjectionStatus::Running => "",
    }
}

fn cells(view: &ProjectionView, now: Timestamp) -> [String; 6] {
    let since = |since: Timestamp, by: Option<&String>| {
        let age = age(now.millis_since(since) / 1_000);
        by.map_or_else(|| age.clone(), |by| format!("{age}, by {by}"))
    };
    let (since, detail) = match (&view.pause, &view.rebuild) {
        (Some(pause), _) => (since(pause.since, pause.by.as_ref()), pause.reason.clone()),
        (None, Some(rebuild)) => {
            let began = rebuild.ended_at.unwrap_or(rebuild.requested_at);
            (since(began, rebuild.by.as_ref()), Some(rebuild.in_words()))
        }
        (None, None) => <_>::default(),
    };
    [
        view.name.to_owned(),
        view.container.to_owned(),
        format!("{}{}", word(&view.status), if view.eager { ", eager" } else { "" }),
        view.lag.as_ref().map_or_else(|| "?".to_owned(), lag),
        since,
        detail.unwrap_or_default(),
    ]
}

fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}
