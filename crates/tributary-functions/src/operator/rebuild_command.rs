//! `projections rebuild` and `rewind`: the command asks for a rebuild, or finds one under way, and works on it
//! until its end.

use std::time::Instant;

use super::{
    ProjectionName, ProjectionView, RebuildView,
    output::{PROGRESS_INTERVAL, print, sentence},
    update,
    view::find,
};
use crate::{
    http::Conditions,
    projection::control::Rebuild,
    rebuild::{RebuildRequest, Rebuilds, RunResult},
    terminal::OutputFormat,
    values::{Timestamp, fresh_id},
};

/// Rebuilds a projection, with progress on standard error. A rebuild of the same sources that has no worker
/// is continued.
///
/// # Errors
///
/// A sentence that says what to do.
pub(super) async fn run(
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
        let request = RebuildRequest::new(user, since);
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
