//! The table of the command `projections`.

use super::{ProjectionStatus, ProjectionView};
use crate::{
    terminal::{Colour, table},
    values::Timestamp,
};

const COLUMNS: [&str; 5] = ["NAME", "CONTAINER", "STATUS", "SINCE", "DETAIL"];

/// Returns the projections as an aligned table.
pub(super) fn projections_table(views: &[ProjectionView], has_colours: bool) -> String {
    let now = Timestamp::now();
    let row = |view: &ProjectionView| (colour(view.status), cells(view, now).into());
    table(&COLUMNS, views.iter().map(row), has_colours)
}

fn colour(status: ProjectionStatus) -> Option<Colour> {
    match status {
        ProjectionStatus::Running => None,
        ProjectionStatus::Paused | ProjectionStatus::Rebuilding => Some(Colour::Yellow),
        ProjectionStatus::Unreadable => Some(Colour::Red),
    }
}

fn cells(view: &ProjectionView, now: Timestamp) -> [String; 5] {
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
        view.status.as_str().to_owned(),
        since,
        detail.unwrap_or_default(),
    ]
}

/// Returns a duration in its two largest units.
fn age(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds / 3_600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::control::Pause;

    #[test]
    fn a_paused_projection_shows_since_when_by_whose_command_and_for_which_reason() {
        let since = Timestamp::now().before(std::time::Duration::from_secs(3_700));
        let pause = Pause { since, by: Some("ann".into()), reason: Some("A bug".into()) };
        let running = ProjectionView {
            name: "RoomCopies",
            container: "rooms",
            status: ProjectionStatus::Running,
            pause: None,
            rebuild: None,
        };
        let paused = ProjectionView {
            status: ProjectionStatus::Paused,
            pause: Some(pause),
            ..running.clone()
        };
        assert_eq!(
            projections_table(&[running, paused], false),
            "NAME        CONTAINER  STATUS   SINCE              DETAIL\n\
             RoomCopies  rooms      running\n\
             RoomCopies  rooms      paused   1 h 1 min, by ann  A bug\n"
        );
    }
}
