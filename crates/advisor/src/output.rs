//! Advice for people: as tables on a terminal, and as one HTML file.

mod heat;
mod html;
mod tables;
mod text;

pub use html::html;
pub use text::text;

/// Returns a number without decimals, with commas.
pub(crate) fn whole(number: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded, not negative"
    )]
    let rounded = number.max(0.0).round() as usize;
    tributary_tools::figures::thousands(rounded)
}

/// Returns a number of which three digits mean something.
pub(crate) fn about(number: f64) -> String {
    if number < 1_000.0 {
        return whole(number);
    }
    let unit = 10_f64.powf(number.log10().floor() - 2.0);
    whole((number / unit).round() * unit)
}

/// Returns what was measured of traffic, as text.
pub fn measured(measured: &crate::traffic::Measured) -> String {
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
