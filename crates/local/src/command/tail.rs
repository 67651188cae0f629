//! `cargo local tail`: the invocations of the running app, as they end.

use std::io::Write as _;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};
use tokio::time::Instant;

use super::cli::TailOptions;
use super::host_client::{EventReader, HostClient};
use crate::host::{EndedInvocation, HostEvent};

const RESTART_DEADLINE: Duration = Duration::from_secs(3);
const RESTART_INTERVAL: Duration = Duration::from_millis(100);

pub(super) async fn tail(options: TailOptions) -> anyhow::Result<()> {
    let host = HostClient::new(options.host)?;
    let mut names = Vec::new();
    for name in &options.functions {
        names.push(host.function(name).await?.name);
    }
    let mut next = Some(host.events().await?);
    anstream::eprintln!("Waiting for invocations; Ctrl-C ends");
    while let Some(events) = next {
        if !follow(events, &names).await {
            return Ok(());
        }
        next = restarted(&host).await;
        if next.is_some() {
            anstream::eprintln!("The host has started again");
        }
    }
    anstream::eprintln!("The app has ended");
    Ok(())
}

/// Prints invocations until the host ends. Returns false if stdout is closed.
async fn follow(mut events: EventReader, names: &[String]) -> bool {
    while let Some(event) = events.next().await {
        let (style, line) = match event {
            HostEvent::Ended(ended) if names.is_empty() || names.contains(&ended.function) => {
                let colour = if ended.succeeded { AnsiColor::Green } else { AnsiColor::Red };
                (colour.on_default(), line_of(&ended))
            }
            HostEvent::Skipped { count } => (Style::new(), format!("({count} events were lost)")),
            HostEvent::Ended(_) | HostEvent::Line { .. } => continue,
        };
        if writeln!(anstream::stdout().lock(), "{style}{line}{style:#}").is_err() {
            return false;
        }
    }
    true
}

fn line_of(ended: &EndedInvocation) -> String {
    let EndedInvocation { at, function, succeeded, what, duration_ms, charge, .. } = ended;
    let time = at.split_once('T').map_or(at.as_str(), |(_, time)| time.trim_end_matches('Z'));
    let result = if *succeeded { "ok" } else { "failed" };
    let charge = charge.as_deref().unwrap_or("-");
    format!("{time}  {result:6}  {duration_ms:>6} ms  {charge:>8} RU  {function}: {what}")
}

/// Waits for a host that starts again, as after a change of `host.json`.
async fn restarted(host: &HostClient) -> Option<EventReader> {
    let deadline = Instant::now() + RESTART_DEADLINE;
    while Instant::now() < deadline {
        if let Ok(events) = host.events().await {
            return Some(events);
        }
        tokio::time::sleep(RESTART_INTERVAL).await;
    }
    None
}
