//! `cargo local tail`: the invocations of the running app, as they end.

use std::io::Write as _;

use clap::builder::styling::{AnsiColor, Style};

use super::cli::TailOptions;
use super::host_client::HostClient;
use crate::host::{EndedInvocation, HostEvent};

pub(super) async fn tail(options: TailOptions) -> anyhow::Result<()> {
    let host = HostClient::new(options.host)?;
    let mut names = Vec::new();
    for name in &options.functions {
        names.push(host.function(name).await?.name);
    }
    let mut events = host.events().await?;
    anstream::eprintln!("Waiting for invocations; Ctrl-C ends");
    while let Some(event) = events.next().await {
        let (style, line) = match event {
            HostEvent::Ended(ended) if names.is_empty() || names.contains(&ended.function) => {
                let colour = if ended.succeeded { AnsiColor::Green } else { AnsiColor::Red };
                (colour.on_default(), line_of(&ended))
            }
            HostEvent::Skipped { count } => (Style::new(), format!("({count} events were lost)")),
            HostEvent::Ended(_) => continue,
        };
        if writeln!(anstream::stdout().lock(), "{style}{line}{style:#}").is_err() {
            // stdout is closed.
            return Ok(());
        }
    }
    anstream::eprintln!("The app has ended, or its host has started again");
    Ok(())
}

fn line_of(ended: &EndedInvocation) -> String {
    let EndedInvocation { at, function, succeeded, what, duration_ms, charge, .. } = ended;
    let time = at.split_once('T').map_or(at.as_str(), |(_, time)| time.trim_end_matches('Z'));
    let result = if *succeeded { "ok" } else { "failed" };
    let charge = charge.as_deref().unwrap_or("-");
    format!("{time}  {result:6}  {duration_ms:>6} ms  {charge:>8} RU  {function}: {what}")
}
