//! The command `projections`.

use std::{
    env,
    io::{self, Write},
    time::{Duration, Instant},
};

use clap::{Args, Subcommand};

use super::{
    LeaseName, PauseReason, ProjectionList, ProjectionName, ProjectionView, RebuildView,
    output::{PROGRESS_INTERVAL, closed, print, print_released, print_status, sentence, write},
    update::{StateChange, release, update},
    view::{find, read},
};
use crate::{
    dead_letters::{ReplayCounts, replay_many},
    http::Conditions,
    projection::{
        Projections,
        control::{Pause, Rebuild},
    },
    rebuild::{RebuildStop, Rebuilds},
    terminal::{OutputFormat, json_lines},
    values::{Invalid, Timestamp, fresh_id},
};

/// Lists, pauses, resumes and rebuilds projections, and replays dead letters
#[derive(Debug, Clone, PartialEq, Args)]
#[command(after_help = "\
Settings, as environment variables: CosmosConnection (a connection string) or
CosmosConnection__accountEndpoint (with an identity), CosmosDatabase [default: the app's name].

Exit code: 0 done, or as it was asked for already; 2 the command failed.
docs/projections.md has a runbook for each command.")]
pub(crate) struct ProjectionArguments {
    #[command(subcommand)]
    command: ProjectionCommand,
    /// Print one JSON object a line
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Clone, PartialEq, Args)]
struct Named {
    /// The function's name
    #[arg(value_parser = checked::<ProjectionName>)]
    name: ProjectionName,
}

#[derive(Debug, Clone, PartialEq, Subcommand)]
enum ProjectionCommand {
    /// Lists the projections with their states
    List,
    /// Shows one projection
    Status(Named),
    /// Stops a projection until it is resumed; its changes wait in the change feed
    Pause {
        #[command(flatten)]
        of: Named,
        /// The reason, for the next operator: 1 to 500 characters
        #[arg(long, value_name = "TEXT", value_parser = checked::<PauseReason>)]
        reason: Option<PauseReason>,
    },
    /// Resumes a paused projection; the host delivers within a minute
    Resume(Named),
    /// Takes a lease away from a dead owner, so that another instance acquires it
    ReleaseLease {
        #[command(flatten)]
        of: Named,
        /// The lease, as `status` names it
        #[arg(value_parser = checked::<LeaseName>, allow_hyphen_values = true)]
        lease: LeaseName,
        /// Also from an owner that renews it
        #[arg(long)]
        force: bool,
    },
    /// Replays the dead letters of a projection, newest first; after Ctrl-C, run it again for the others
    ReplayDeadLetters {
        #[command(flatten)]
        of: Named,
        /// Only those whose reason or document id has this text
        #[arg(long, value_name = "TEXT")]
        matching: Option<String>,
    },
    /// Applies all sources of a projection again, and then audits its domain with repair
    ///
    /// Ctrl-C stops this command: a timer of the app goes on within five minutes, or this command does,
    /// started again.
    Rebuild(Named),
    /// Applies the sources again that were written since a time, as `rebuild` does
    Rewind {
        #[command(flatten)]
        of: Named,
        /// The time, such as 2026-11-25T09:00:00Z
        #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
        since: Timestamp,
    },
    /// Cancels the rebuild of a projection; what was applied stays
    CancelRebuild(Named),
    /// Lists the projections again and again, until Ctrl-C
    Watch {
        /// The pause between two lists
        #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = clap::value_parser!(u64).range(1..=3600))]
        interval: u64,
    },
}

pub(crate) async fn run(
    rebuilds: &Rebuilds,
    arguments: &ProjectionArguments,
) -> Result<(), String> {
    let projections = &rebuilds.projections;
    let format = OutputFormat::for_stdout(arguments.json);
    let change = async |name, change| {
        let updated = update(projections, name, &Conditions::default(), &change).await;
        print(&[updated.map_err(sentence)?.0], format)
    };
    match &arguments.command {
        ProjectionCommand::List => print(&list(projections).await?, format),
        ProjectionCommand::Status(Named { name }) => {
            let (view, _) = read(projections, name).await.map_err(sentence)?;
            print_status(view, format)
        }
        ProjectionCommand::Pause { of, reason } => {
            let reason = reason.as_ref().map(|reason| reason.as_str().to_owned());
            let pause = Pause { since: Timestamp::now(), by: user(), reason };
            change(&of.name, StateChange::Pause(pause)).await
        }
        ProjectionCommand::Resume(Named { name }) => change(name, StateChange::Resume).await,
        ProjectionCommand::ReleaseLease { of, lease, force } => {
            let released = release(projections, &of.name, lease, *force).await;
            print_released(released.map_err(sentence)?, format)
        }
        ProjectionCommand::ReplayDeadLetters { of, matching } => {
            let function = find(projections, &of.name).map_err(sentence)?.function();
            let began = Instant::now();
            let mut reported = began;
            let report = |counts: &ReplayCounts| {
                if reported.elapsed() >= PROGRESS_INTERVAL {
                    reported = Instant::now();
                    eprintln!("{}, for {} s", in_words(counts), began.elapsed().as_secs());
                }
            };
            let replay = replay_many(projections, function, matching.as_deref(), report);
            let counts = replay.await.map_err(sentence)?;
            write(&match format {
                OutputFormat::Json => json_lines(&[counts]),
                _ => format!("{}\n", in_words(&counts)),
            })?;
            let failed = "some changes have failed again: see the reasons of their dead letters";
            if counts.failed == 0 { Ok(()) } else { Err(failed.into()) }
        }
        ProjectionCommand::Rebuild(Named { name }) => rebuild(rebuilds, name, None, format).await,
        ProjectionCommand::Rewind { of, since } => {
            rebuild(rebuilds, &of.name, Some(*since), format).await
        }
        ProjectionCommand::CancelRebuild(Named { name }) => {
            change(name, StateChange::CancelRebuild).await
        }
        ProjectionCommand::Watch { interval } => loop {
            let views = list(projections).await?;
            if format == OutputFormat::Colours {
                // To the upper left corner, and clear.
                io::stdout().write_all(b"\x1b[H\x1b[2J").map_err(closed)?;
            }
            print(&views, format)?;
            tokio::time::sleep(Duration::from_secs(*interval)).await;
        },
    }
}

async fn list(projections: &Projections) -> Result<Vec<ProjectionView>, String> {
    Ok(ProjectionList::read(projections).await.map_err(sentence)?.items)
}

fn in_words(ReplayCounts { replayed, failed }: &ReplayCounts) -> String {
    format!("{replayed} replayed, {failed} failed again")
}

fn user() -> Option<String> {
    let names = ["USER", "USERNAME"].into_iter();
    names.filter_map(|name| env::var(name).ok()).find(|name| !name.is_empty())
}

fn checked<T: TryFrom<String, Error = Invalid>>(text: &str) -> Result<T, String> {
    T::try_from(text.to_owned()).map_err(|invalid| format!("it {invalid}"))
}

/// A rebuild of the same sources that has no worker is continued.
async fn rebuild(
    rebuilds: &Rebuilds,
    name: &ProjectionName,
    since: Option<Timestamp>,
    format: OutputFormat,
) -> Result<(), String> {
    let projections = &rebuilds.projections;
    let function = find(projections, name).map_err(sentence)?.function();
    let (state, _) = projections.states.read(function).await.map_err(|e| sentence(e.into()))?;
    let waiting = state.rebuild_under_way().filter(|rebuild| rebuild.since == since);
    if let Some(rebuild) = waiting {
        eprintln!("Goes on with the rebuild that was asked for at {}", rebuild.requested_at);
    } else {
        let change = StateChange::Rebuild(Rebuild::new(user(), since));
        update(projections, name, &Conditions::default(), &change).await.map_err(sentence)?;
    }
    let worker = fresh_id();
    let mut reported = Instant::now();
    let mut report = |rebuild: &Rebuild| {
        if reported.elapsed() >= PROGRESS_INTERVAL {
            reported = Instant::now();
            eprintln!("{}", RebuildView::new(rebuild).in_words());
        }
    };
    let end = tokio::select! {
        end = rebuilds.run(function, &worker, None, &mut report) => end,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map_err(|error| format!("Ctrl-C cannot be awaited: {error}"))?;
            rebuilds.release(function, &worker).await.map_err(|e| sentence(e.into()))?;
            return Err(format!(
                "stopped. A timer of the app goes on within five minutes, or `projections rebuild \
                 {function}` does. `projections cancel-rebuild {function}` ends it"
            ));
        }
    };
    match end {
        Ok(()) => {
            let read = projections.states.read(function).await;
            let (state, _) = read.map_err(|error| sentence(error.into()))?;
            let projection = find(projections, name).map_err(sentence)?;
            print(&[ProjectionView::new(projections, projection, state)], format)
        }
        Err(RebuildStop::OtherWorker) => Err(format!(
            "another process works on the rebuild of {function}: see `projections status {function}`"
        )),
        Err(RebuildStop::Paused) => {
            Err(format!("{function} is paused. The rebuild goes on after it is resumed"))
        }
        Err(RebuildStop::NoRebuild) => Err(format!("the rebuild of {function} was cancelled")),
        Err(error @ RebuildStop::Failed(_)) => Err(error.to_string()),
        Err(error) => Err(format!(
            "{error}. The rebuild keeps its position: run the command again, or wait for the timer of \
             the app"
        )),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        arguments: ProjectionArguments,
    }

    #[test]
    fn the_name_of_a_lease_may_begin_with_a_hyphen() {
        for (line, lease, by_force) in [
            (["--force", "-1F"].as_slice(), "-1F", true),
            (&["-1F", "--force"], "-1F", true),
            (&["1F-FF"], "1F-FF", false),
        ] {
            let line = ["tributary", "release-lease", "RoomCopies"].iter().chain(line);
            let command = Program::try_parse_from(line).unwrap().arguments.command;
            let of = Named { name: ProjectionName::parse("RoomCopies".into()).unwrap() };
            let lease = LeaseName::parse(lease.into()).unwrap();
            assert_eq!(command, ProjectionCommand::ReleaseLease { of, lease, force: by_force });
        }
    }
}
