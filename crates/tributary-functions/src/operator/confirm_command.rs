//! `projections confirm`: the command confirms the switch, and removes the old copies until none is left.

use std::time::Instant;

use super::{
    ProjectionName, ProjectionView,
    output::{PROGRESS_INTERVAL, print, sentence},
    succession_view::RemovalView,
    switch::{confirm, succession_of},
    view::find,
};
use crate::{
    http::Conditions,
    projection::control::Retirement,
    rebuild::{Rebuilds, RemovalResult},
    terminal::OutputFormat,
};

/// Confirms the switch of a projection, with the progress of the removal on standard error. A switch that is
/// confirmed already is continued with.
///
/// # Errors
///
/// A sentence that says what to do.
pub(super) async fn run(
    rebuilds: &Rebuilds,
    name: &ProjectionName,
    user: Option<String>,
    format: OutputFormat,
) -> Result<(), String> {
    let projections = rebuilds.projections();
    let conditions = &Conditions::default();
    confirm(projections, name, conditions, user.as_ref()).await.map_err(sentence)?;
    let succession = succession_of(projections, name).map_err(sentence)?;
    let mut reported = Instant::now();
    let mut report = |retirement: &Retirement| {
        if reported.elapsed() >= PROGRESS_INTERVAL {
            reported = Instant::now();
            eprintln!("{}", RemovalView::new(retirement).in_words());
        }
    };
    let work = async {
        loop {
            match rebuilds.remove_retired(succession, None, &mut report).await {
                Ok(RemovalResult::NotYet(begins)) => {
                    eprintln!(
                        "The switch is confirmed. The removal of the old copies begins at {begins}"
                    );
                    rebuilds.wait_for_removal(begins).await;
                }
                Ok(RemovalResult::Done | RemovalResult::OutOfTime | RemovalResult::NoRemoval) => {
                    return Ok(());
                }
                Err(error) => return Err(sentence(error.into())),
            }
        }
    };
    tokio::select! {
        end = work => end.map_err(|error| format!(
            "{error} The switch is confirmed. Run the command again to go on with the removal, or wait for the \
             timer of the app"
        ))?,
        interrupted = tokio::signal::ctrl_c() => {
            interrupted.map_err(|error| format!("Ctrl-C cannot be awaited: {error}"))?;
            return Err("stopped. The switch is confirmed. A timer of the app goes on with the removal within \
                        five minutes, or this command does, started again".into());
        }
    }
    let projection = find(projections, name).map_err(sentence)?;
    let read = projections.states().read(projection.function()).await;
    let (state, _) = read.map_err(|error| sentence(error.into()))?;
    print(&[ProjectionView::new(projections, projection, state)], format)
}
