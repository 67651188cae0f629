//! The table of the command `projections`.

use super::{ProjectionStatus, ProjectionView};
use crate::{projection::control::Pause, values::Timestamp};

/// The format of what the command prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableFormat {
    /// An aligned table.
    Plain,
    /// The same for a terminal that shows colours.
    Colours,
    /// One JSON object a line.
    Json,
}

impl TableFormat {
    /// Returns the format for a terminal or a pipe. `NO_COLOR` turns colours off.
    pub(super) fn of(json: bool, is_terminal: bool) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match (json, is_terminal) {
            (true, _) => Self::Json,
            (false, true) if !no_colour => Self::Colours,
            (false, _) => Self::Plain,
        }
    }

    /// Returns true if a table may replace the one before it.
    pub(super) fn is_live(self) -> bool {
        self == Self::Colours
    }
}

const COLUMNS: [&str; 5] = ["NAME", "CONTAINER", "STATUS", "SINCE", "REASON"];
const BOLD: &str = "\u{1b}[1m";
const YELLOW: &str = "\u{1b}[33m";
const PLAIN: &str = "\u{1b}[0m";

/// Returns the projections as an aligned table.
pub(super) fn text(views: &[ProjectionView], format: TableFormat) -> String {
    let rows: Vec<[String; 5]> = views.iter().map(|view| row(view, Timestamp::now())).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([COLUMNS[column].len()]).max().unwrap_or_default()
    };
    let widths: [usize; 5] = std::array::from_fn(width);
    let has_colours = format == TableFormat::Colours;
    let mut text = line(&COLUMNS.map(str::to_owned), widths, if has_colours { BOLD } else { "" });
    for (row, view) in rows.iter().zip(views) {
        let colour = match view.status {
            ProjectionStatus::Paused if has_colours => YELLOW,
            _ => "",
        };
        text.push_str(&line(row, widths, colour));
    }
    text
}

fn row(view: &ProjectionView, now: Timestamp) -> [String; 5] {
    let since = |Pause { since, by, .. }: &Pause| {
        let age = age(now.millis_since(*since) / 1_000);
        by.as_ref().map_or_else(|| age.clone(), |by| format!("{age}, by {by}"))
    };
    let pause = view.pause.as_ref();
    [
        view.name.to_owned(),
        view.container.to_owned(),
        view.status.as_str().to_owned(),
        pause.map(since).unwrap_or_default(),
        pause.and_then(|pause| pause.reason.clone()).unwrap_or_default(),
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

/// Returns a line of the table, in a colour if there is one.
fn line(cells: &[String; 5], widths: [usize; 5], colour: &str) -> String {
    let cells: Vec<String> =
        cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
    let line = cells.join("  ");
    let end = if colour.is_empty() { "" } else { PLAIN };
    format!("{colour}{}{end}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paused_projection_shows_since_when_by_whose_command_and_for_which_reason() {
        let since = Timestamp::now().before(std::time::Duration::from_secs(3_700));
        let pause = Pause { since, by: Some("ann".into()), reason: Some("A bug".into()) };
        let running = ProjectionView {
            name: "RoomCopies",
            container: "rooms",
            status: ProjectionStatus::Running,
            pause: None,
        };
        let paused = ProjectionView {
            status: ProjectionStatus::Paused,
            pause: Some(pause),
            ..running.clone()
        };
        assert_eq!(
            text(&[running, paused], TableFormat::Plain),
            "NAME        CONTAINER  STATUS   SINCE              REASON\n\
             RoomCopies  rooms      running\n\
             RoomCopies  rooms      paused   1 h 1 min, by ann  A bug\n"
        );
    }
}
