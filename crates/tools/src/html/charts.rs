//! Charts as SVG within HTML: bars beside published figures, and lines over the sizes.

use std::fmt::Write as _;

use crate::escape;

/// A group of bars under one title, such as those of one request, a model each.
#[derive(Debug)]
pub struct BarGroup {
    /// The title, to the left of the bars.
    pub title: String,
    /// The bars, from top to bottom.
    pub bars: Vec<ChartBar>,
}

/// One bar.
#[derive(Debug)]
pub struct ChartBar {
    /// One of [`CLASSES`](super::page::CLASSES).
    pub class: &'static str,
    /// The meaning of the bar, shown under the pointer.
    pub label: String,
    /// The length, in the unit of the chart.
    pub value: f64,
    /// A published figure, from and to.
    pub published: Option<(f64, f64)>,
}

/// One line of a small chart.
#[derive(Debug)]
pub struct ChartLine {
    /// One of [`CLASSES`](super::page::CLASSES).
    pub class: &'static str,
    /// The meaning of the line, shown under the pointer.
    pub label: String,
    /// Sizes and values, in the order of the sizes.
    pub points: Vec<(f64, f64)>,
}

const CHART_WIDTH: f64 = 760.0;
const TITLE_WIDTH: f64 = 190.0;
const VALUE_WIDTH: f64 = 70.0;
const BAR_HEIGHT: f64 = 11.0;
const GROUP_SPACE: f64 = 11.0;

/// Returns groups of bars on a logarithmic scale. A stroke shows a published figure.
pub fn bars(unit: &str, groups: &[BarGroup]) -> String {
    let all = || groups.iter().flat_map(|group| &group.bars);
    let values = all().flat_map(|bar| {
        let (from, to) = bar.published.unwrap_or((bar.value, bar.value));
        [bar.value, from, to]
    });
    let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    // A little room on both sides, so that the smallest value has a bar, too.
    let lowest = values.iter().copied().fold(1.0, f64::min).log10() - 0.3;
    let highest = values.iter().copied().fold(10.0, f64::max).log10() + 0.1;
    let x = |value: f64| {
        let share = (value.max(1e-9).log10() - lowest) / (highest - lowest);
        TITLE_WIDTH + share.clamp(0.0, 1.0) * (CHART_WIDTH - TITLE_WIDTH - VALUE_WIDTH)
    };
    #[expect(clippy::cast_precision_loss, reason = "some tens")]
    let height = all().count() as f64 * BAR_HEIGHT + groups.len() as f64 * GROUP_SPACE + 30.0;
    let mut svg = begin(CHART_WIDTH, height, unit);
    let mut power = lowest.ceil();
    while power <= highest {
        let at = x(10_f64.powf(power));
        let label = 10_f64.powf(power);
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{at:.1}\" y1=\"0\" x2=\"{at:.1}\" y2=\"{:.1}\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            height - 24.0,
            height - 8.0,
        );
        power += 1.0;
    }
    let mut y = 6.0;
    for group in groups {
        #[expect(clippy::cast_precision_loss, reason = "a handful")]
        let middle = y + group.bars.len() as f64 / 2.0 * BAR_HEIGHT + 4.0;
        let _ = write!(svg, "<text x=\"0\" y=\"{middle:.1}\">{}</text>", escape(&group.title));
        for bar in &group.bars {
            svg.push_str(&one_bar(group, bar, unit, y, &x));
            y += BAR_HEIGHT;
        }
        y += GROUP_SPACE;
    }
    svg + "</svg>\n"
}

fn one_bar(group: &BarGroup, bar: &ChartBar, unit: &str, y: f64, x: &dyn Fn(f64) -> f64) -> String {
    let ChartBar { class, label, value, published } = bar;
    let end = y + BAR_HEIGHT - 1.0;
    let mut says = String::new();
    let mut strokes = String::new();
    let mut after = x(*value);
    if let Some((from, to)) = *published {
        let _ = if from < to {
            write!(says, ", published {from:.0} to {to:.0}")
        } else {
            write!(says, ", published {from:.2}")
        };
        let mut line = |from: f64, y: f64, to: f64, end: f64| {
            let _ = write!(
                strokes,
                "<line class=\"seed\" x1=\"{from:.1}\" y1=\"{y:.1}\" x2=\"{to:.1}\" y2=\"{end:.1}\"/>"
            );
        };
        line(x(from), y, x(from), end);
        if from < to {
            line(x(to), y, x(to), end);
        }
        after = after.max(x(to));
    }
    format!(
        "<g><title>{} {}: {value:.2} {unit}{says}</title><rect class=\"{class}\" x=\"{TITLE_WIDTH}\" \
         y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>{strokes}<text class=\"value\" x=\"{:.1}\" \
         y=\"{:.1}\">{value:.2}</text></g>",
        escape(&group.title),
        escape(label),
        (x(*value) - TITLE_WIDTH).max(1.0),
        BAR_HEIGHT - 1.0,
        after + 5.0,
        y + BAR_HEIGHT - 2.5,
    )
}

/// The points up to which a line has dots. More dots would hide the line.
const MAX_DOTTED_POINTS: usize = 20;

const PLOT_SIZE: (f64, f64) = (240.0, 150.0);

/// Returns one small chart: a quantity by the size, a line for each model. `sizes` is the unit of a size.
pub fn lines(title: &str, sizes: &str, lines: &[ChartLine]) -> String {
    let points = || lines.iter().flat_map(|line| &line.points);
    let most = points().map(|(_, value)| *value).fold(0.0, f64::max).max(1.0);
    let widest = points().map(|(size, _)| *size).fold(1.0, f64::max);
    let x = |size: f64| 44.0 + size / widest * (PLOT_SIZE.0 - 56.0);
    let y = |value: f64| PLOT_SIZE.1 - 22.0 - value / most * (PLOT_SIZE.1 - 50.0);
    let mut svg = begin(PLOT_SIZE.0, PLOT_SIZE.1, title);
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"12\">{title}</text>\
         <line class=\"grid\" x1=\"44\" y1=\"{zero:.1}\" x2=\"{end:.1}\" y2=\"{zero:.1}\"/>\
         <line class=\"grid\" x1=\"44\" y1=\"{top:.1}\" x2=\"{end:.1}\" y2=\"{top:.1}\"/>\
         <text x=\"40\" y=\"{zero:.1}\" text-anchor=\"end\">0</text>\
         <text x=\"40\" y=\"{top_text:.1}\" text-anchor=\"end\">{most:.0}</text>\
         <text x=\"{end:.1}\" y=\"{under:.1}\" text-anchor=\"end\">{widest:.0} {sizes}</text>",
        title = escape(title),
        zero = y(0.0),
        top = y(most),
        top_text = y(most) + 4.0,
        end = x(widest),
        under = PLOT_SIZE.1 - 4.0,
    );
    for ChartLine { class, label, points } in lines {
        let path: Vec<String> = points
            .iter()
            .map(|(size, value)| format!("{:.1},{:.1}", x(*size), y(*value)))
            .collect();
        let _ = write!(
            svg,
            "<polyline class=\"{class}\" points=\"{}\"><title>{}</title></polyline>",
            path.join(" "),
            escape(label)
        );
        if points.len() > MAX_DOTTED_POINTS {
            continue;
        }
        for (size, value) in points {
            let _ = write!(
                svg,
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\">\
                 <title>{}, {size:.0} {sizes}: {value:.2}</title></circle>",
                x(*size),
                y(*value),
                escape(label),
            );
        }
    }
    svg + "</svg>\n"
}

/// Returns the opening tag of a chart with its size and its accessible name.
pub fn begin(width: f64, height: f64, label: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{}\">",
        escape(label)
    )
}
