//! The command `projections`.

use std::{
    env, fmt,
    io::{self, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Args, Subcommand};

use super::{
    LeaseName, PauseReason, ProjectionList, ProjectionName, ProjectionView, RebuildView,
    output::{PROGRESS_INTERVAL, closed, print, print_released, print_status, sentence, write},
    update,
    update::release,
    view::{find, read},
};
use crate::{
    brand::brand,
    dead_letters::{ReplayCounts, replay_many},
    http::Conditions,
    projection::{
        Projections,
        control::{Pause, Rebuild},
    },
    rebuild::{Rebuilds, RunResult},
    terminal::{OutputFormat, json_lines},
    values::{Timestamp, fresh_id},
};

const EXIT_FAILED: u8 = 2;

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

#[derive(Debug, Clone, PartialEq, Subcommand)]
enum ProjectionCommand {
    /// Lists the projections with their states
    List,
    /// Shows one projection
    Status {
        /// The function's name
        #[arg(value_parser = name)]
        name: ProjectionName,
    },
    /// Stops a projection until it is resumed; its changes wait in the change feed
    Pause {
        /// The function's name
        #[arg(value_parser = name)]
        name: ProjectionName,
        /// The reason, for the next operator: 1 to 500 characters
        #[arg(long, value_name = "TEXT", value_parser = reason)]
        reason: Option<PauseReason>,
    },
    /// Resumes a paused projection; the host delivers within a minute
    Resume {
        /// The function's name
        #[arg(value_parser = name)]
        name: ProjectionName,
    },
    /// Takes a lease away from a dead owner, so that another instance acquires it
    ReleaseLease {
        /// The function's name
        #[arg(value_parser = name)]
        name: ProjectionName,
        /// The lease, as `status` names it
        #[arg(value_parser = lease_name, allow_hyphen_values = true)]
        lease: LeaseName,
        /// Also from an owner that renews it
        #[arg(long)]
        force: bool,
    },
    /// Replays the dead letters of a projection, newest first; after Ctrl-C, run it again for the others
    ReplayDeadLetters {
        /// The function's name
        #[arg(value_parser = name)]
        name: ProjectionName,
        /// Only those whose reason or document id has this text
        #[arg(long, value_name = "TEXT")]
        matching: Option<String>,
    },
    /// Applies all sources of a projection again, and then audits its domain with repair
    ///
    /// Ctrl-C stops this command: a timer of the app goes on within five minutes, or this command does,
    /// started again.
    Rebuild {
        /// The function's name
        #[arg(value_parser = name)]
        name: ProjectionName,
    },
    /// Applies the sources again that were written since a time, as `rebuild` does
    Rewind {
        /// The function's name
        #[arg(value_parser = name)]
        name: ProjectionName,
        /// The time, such as 2026-11-25T09:00:00Z
        #[arg(long, value_name = "TIME", value_parser = Timestamp::parse)]
        since: Timestamp,
    },
    /// Cancels the rebuild of a projection; what was applied stays
    CancelRebuild {
        /// The function's name
        #[arg(value_parser = name)]
        name: ProjectionName,
    },
    /// Lists the projections again and again, until Ctrl-C
    Watch {
        /// The pause between two lists
        #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = clap::value_parser!(u64).range(1..=3600))]
        interval: u64,
    },
}

pub(crate) async fn run(rebuilds: &Rebuilds, arguments: &ProjectionArguments) -> ExitCode {
    match carry_out(rebuilds, arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(error),
    }
}

pub(crate) fn fail(error: impl fmt::Display) -> ExitCode {
    eprintln!("{}: {error}", brand().name);
    ExitCode::from(EXIT_FAILED)
}

async fn carry_out(rebuilds: &Rebuilds, arguments: &ProjectionArguments) -> Result<(), String> {
    let projections = rebuilds.projections();
    let format = OutputFormat::for_stdout(arguments.json);
    let anything = &Conditions::default();
    match &arguments.command {
        ProjectionCommand::List => print(&list(projections).await?, format),
        ProjectionCommand::Status { name } => {
            let (view, _) = read(projections, name).await.map_err(sentence)?;
            print_status(view, format)
        }
        ProjectionCommand::Pause { name, reason } => {
            let reason = reason.as_ref().map(|reason| reason.as_str().to_owned());
            let pause = Pause { since: Timestamp::now(), by: user(), reason };
            let updated = update::pause(projections, name, anything, &pause).await;
            print(&[updated.map_err(sentence)?.view], format)
        }
        ProjectionCommand::Resume { name } => {
            let updated = update::resume(projections, name, anything).await;
            print(&[updated.map_err(sentence)?.view], format)
        }
        ProjectionCommand::ReleaseLease { name, lease, force } => {
            let released = release(projections, name, lease, *force).await.map_err(sentence)?;
            print_released(released, format)
        }
        ProjectionCommand::ReplayDeadLetters { name, matching } => {
            let function = find(projections, name).map_err(sentence)?.function();
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
            match format {
                OutputFormat::Json => write(&json_lines(&[counts]))?,
                OutputFormat::Plain | OutputFormat::Colours => {
                    write(&format!("{}\n", in_words(&counts)))?;
                }
            }
            match counts.failed {
                0 => Ok(()),
                _ => {
                    Err("some changes have failed again: see the reasons of their dead letters"
                        .into())
                }
            }
        }
        ProjectionCommand::Rebuild { name } => rebuild(rebuilds, name, None, user(), format).await,
        ProjectionCommand::Rewind { name, since } => {
            rebuild(rebuilds, name, Some(*since), user(), format).await
        }
        ProjectionCommand::CancelRebuild { name } => {
            let updated = update::cancel(projections, name, anything).await;
            print(&[updated.map_err(sentence)?.view], format)
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

/// Returns the user of this computer, whose name stands with the pause.
fn user() -> Option<String> {
    let names = ["USER", "USERNAME"].into_iter();
    names.filter_map(|name| env::var(name).ok()).find(|name| !name.is_empty())
}

fn name(text: &str) -> Result<ProjectionName, String> {
    ProjectionName::parse(text.to_owned()).map_err(|invalid| format!("it {invalid}"))
}

fn lease_name(text: &str) -> Result<LeaseName, String> {
    LeaseName::parse(text.to_owned()).map_err(|invalid| format!("it {invalid}"))
}

fn reason(text: &str) -> Result<PauseReason, String> {
    PauseReason::parse(text.to_owned()).map_err(|invalid| format!("it {invalid}"))
}

/// Rebuilds a projection, with progress on standard error. A rebuild of the same sources that has no worker
/// is continued.
///
/// # Errors
///
/// A sentence that says what to do.
async fn rebuild(
    rebuilds: &Rebuilds,
    name: &ProjectionName,
    since: Option<Timestamp>,
    user: Option<String>,
    format: OutputFormat,
) -> Result<(), String> {
    let projections = rebuilds.projections();
    let function = find(projections, name).map_err(sentence)?.function();
    let (state, _) = projections.states().read(function).await.map_err(|e| sentence(e.into()))?;
    let waiting = state.rebuild_under_way().filter(|rebuild| rebuild.since == since);
    if let Some(rebuild) = waiting {
        eprintln!("Goes on with the rebuild that was asked for at {}", rebuild.requested_at);
    } else {
        let request = Rebuild::new(user, since);
        let conditions = &Conditions::default();
        update::rebuild(projections, name, conditions, &request).await.map_err(sentence)?;
    }
    let worker = fresh_id();
    let mut progress = Progress { reported: Instant::now() };
    let mut report = |rebuild: &Rebuild| progress.report(rebuild);
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
        Ok(RunResult::Done) => {
            let read = projections.states().read(function).await;
            let (state, _) = read.map_err(|error| sentence(error.into()))?;
            let projection = find(projections, name).map_err(sentence)?;
            print(&[ProjectionView::new(projections, projection, state)], format)
        }
        Ok(RunResult::OtherWorker) => Err(format!(
            "another process works on the rebuild of {function}: see `projections status {function}`"
        )),
        Ok(RunResult::Paused) => {
            Err(format!("{function} is paused. The rebuild goes on after it is resumed"))
        }
        Ok(RunResult::NoRebuild) => Err(format!("the rebuild of {function} was cancelled")),
        Ok(RunResult::OutOfTime) => Err(format!("the rebuild of {function} has more to do")),
        Err(error) => Err(format!(
            "{error}. The rebuild keeps its position: run the command again, or wait for the timer of \
             the app"
        )),
    }
}

struct Progress {
    reported: Instant,
}

impl Progress {
    fn report(&mut self, rebuild: &Rebuild) {
        if self.reported.elapsed() < PROGRESS_INTERVAL {
            return;
        }
        self.reported = Instant::now();
        eprintln!("{}", RebuildView::new(rebuild).in_words());
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
            let name = ProjectionName::parse("RoomCopies".into()).unwrap();
            let lease = LeaseName::parse(lease.into()).unwrap();
            assert_eq!(command, ProjectionCommand::ReleaseLease { name, lease, force: by_force });
        }
    }
}
