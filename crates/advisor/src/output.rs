//! Advice as tables on a terminal, and as one HTML file.

mod heat;
mod html;
mod tables;
mod text;

pub use html::html;
pub use text::text;

/// Returns the measured traffic as text.
pub fn measured(measured: &crate::traffic::TrafficSummary) -> String {
    let mut text = format!(
        "\u{1b}[1mMeasured traffic\u{1b}[0m\n  - {} rows of {:.1} days\n",
        measured.rows, measured.days
    );
    for note in &measured.notes {
        text.push_str("  - ");
        text.push_str(note);
        text.push('\n');
    }
    text
}
