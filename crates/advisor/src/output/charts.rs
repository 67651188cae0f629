//! Pictures as SVG, without a script.

use std::fmt::Write as _;

use super::escape;

pub(crate) const COLOURS: [&str; 5] = ["#2563c9", "#c2410c", "#15803d", "#9333ea", "#64748b"];

const BAR_HEIGHT: usize = 22;
const LABEL_WIDTH: usize = 300;
const BAR_WIDTH: f64 = 380.0;
const PLOT_SIZE: f64 = 320.0;

pub(crate) type Bar = (String, f64, String);

pub(crate) fn bars(title: &str, bars: &[Bar]) -> String {
    let most = bars.iter().map(|(_, value, _)| *value).fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = begin(title, 800, bars.len() * BAR_HEIGHT + 4);
    for (n, (label, value, text)) in bars.iter().enumerate() {
        let y = n * BAR_HEIGHT;
        let width = value / most * BAR_WIDTH;
        let text_at = width + 308.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\
             <rect x=\"{LABEL_WIDTH}\" y=\"{}\" width=\"{width:.1}\" height=\"16\" fill=\"{}\"/>\
             <text x=\"{text_at:.1}\" y=\"{}\">{}</text>",
            LABEL_WIDTH - 8,
            y + 15,
            escape(label),
            y + 2,
            COLOURS[0],
            y + 15,
            escape(text),
        );
    }
    svg + "</svg>\n"
}

pub(crate) fn curves(title: &str, curves: &[(String, &[(f64, f64)])]) -> String {
    let mut svg = begin(title, 800, 330);
    svg += "<path d=\"M4 4V324H324\" fill=\"none\" stroke=\"currentColor\" opacity=\"0.5\"/>\n";
    for (n, ((name, points), colour)) in curves.iter().zip(COLOURS).enumerate() {
        let place = |(x, y): &(f64, f64)| {
            format!("{:.1},{:.1} ", 4.0 + x * PLOT_SIZE, 324.0 - y * PLOT_SIZE)
        };
        let points: String = points.iter().map(place).collect();
        let y = 20 + n * BAR_HEIGHT;
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <rect x=\"350\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>\
             <text x=\"368\" y=\"{y}\">{}</text>",
            points.trim_end(),
            y - 11,
            escape(name),
        );
    }
    svg + "</svg>\n"
}

fn begin(title: &str, width: usize, height: usize) -> String {
    let title = escape(title);
    format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\n")
}
