//! Charts as SVG within HTML: bars beside the article's figures, and lines over the sizes.

use std::fmt::Write as _;

use super::{Report, Size, tables::Quantity};
use crate::{
    measure::Row,
    request::{Request, Version},
    seed::{Published, published},
};

/// A quantity that the article publishes, too.
pub(super) struct Compared {
    pub(super) unit: &'static str,
    pub(super) ours: fn(&Row) -> f64,
    pub(super) theirs: fn(&Published) -> f64,
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 150.0;
const RIGHT: f64 = 70.0;
const BAR: f64 = 11.0;
const GROUP: f64 = 3.0 * BAR + 11.0;

/// Bars of all requests and models on a logarithmic scale; a stroke stands where the article's
/// figure is.
pub(super) fn bars(size: &Size, compared: &Compared) -> String {
    let theirs = |row: &Row| (compared.theirs)(&published(row.request)[row.model as usize]);
    let values = size.rows.iter().flat_map(|row| [(compared.ours)(row), theirs(row)]);
    let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    // A little room on both sides, so that the smallest is a bar, too.
    let lowest = values.iter().copied().fold(1.0, f64::min).log10() - 0.3;
    let highest = values.iter().copied().fold(10.0, f64::max).log10() + 0.1;
    let x = |value: f64| {
        let share = (value.max(1e-9).log10() - lowest) / (highest - lowest);
        LEFT + share.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT)
    };
    #[expect(clippy::cast_precision_loss, reason = "ten")]
    let height = Request::ALL.len() as f64 * GROUP + 30.0;
    let mut svg = begin(WIDTH, height, compared.unit);
    let mut power = lowest.ceil();
    while power <= highest {
        let (at, label) = (x(10_f64.powf(power)), 10_f64.powf(power));
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
    for request in Request::ALL {
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.1}\">{request} {}</text>",
            y + 1.5 * BAR + 4.0,
            request.title()
        );
        for model in Version::ALL {
            if let Some(row) = size.row(request, model) {
                let (ours, theirs) =
                    ((compared.ours)(row), (compared.theirs)(&published(request)[model as usize]));
                let _ = write!(
                    svg,
                    "<g><title>{request} {model}: {ours:.2} {unit}, the article {theirs:.2}</title>\
                     <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                     height=\"{bar:.1}\"/><line class=\"seed\" x1=\"{seed:.1}\" y1=\"{y:.1}\" \
                     x2=\"{seed:.1}\" y2=\"{end:.1}\"/><text class=\"value\" x=\"{after:.1}\" \
                     y=\"{base:.1}\">{ours:.2}</text></g>",
                    unit = compared.unit,
                    class = class(model),
                    width = (x(ours) - LEFT).max(1.0),
                    bar = BAR - 1.0,
                    seed = x(theirs),
                    end = y + BAR - 1.0,
                    after = x(ours).max(x(theirs)) + 5.0,
                    base = y + BAR - 2.5,
                );
            }
            y += BAR;
        }
        y += GROUP - 3.0 * BAR;
    }
    svg + "</svg>\n"
}

const PLOT: (f64, f64) = (240.0, 150.0);

/// One small chart: a quantity of a request by the number of users, a line for each model.
pub(super) fn lines(report: &Report, request: Request, of: Quantity) -> String {
    let points = |model: Version| -> Vec<(f64, f64)> {
        let sizes = report.sizes.iter();
        sizes
            .filter_map(|size| Some((f64::from(size.users), of(size.row(request, model)?)?)))
            .collect()
    };
    let all = Version::ALL.map(points);
    let most = all.iter().flatten().map(|(_, value)| *value).fold(0.0, f64::max).max(1.0);
    let widest = all.iter().flatten().map(|(users, _)| *users).fold(1.0, f64::max);
    let x = |users: f64| 44.0 + users / widest * (PLOT.0 - 56.0);
    let y = |value: f64| PLOT.1 - 22.0 - value / most * (PLOT.1 - 50.0);
    let mut svg = begin(PLOT.0, PLOT.1, request.title());
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"12\">{request} {title}</text>\
         <line class=\"grid\" x1=\"44\" y1=\"{zero:.1}\" x2=\"{end:.1}\" y2=\"{zero:.1}\"/>\
         <line class=\"grid\" x1=\"44\" y1=\"{top:.1}\" x2=\"{end:.1}\" y2=\"{top:.1}\"/>\
         <text x=\"40\" y=\"{zero:.1}\" text-anchor=\"end\">0</text>\
         <text x=\"40\" y=\"{top_text:.1}\" text-anchor=\"end\">{most:.0}</text>\
         <text x=\"{end:.1}\" y=\"{under:.1}\" text-anchor=\"end\">{widest:.0} users</text>",
        title = request.title(),
        zero = y(0.0),
        top = y(most),
        top_text = y(most) + 4.0,
        end = x(widest),
        under = PLOT.1 - 4.0,
    );
    for (model, points) in Version::ALL.into_iter().zip(all) {
        let path: Vec<String> = points
            .iter()
            .map(|(users, value)| format!("{:.1},{:.1}", x(*users), y(*value)))
            .collect();
        let _ = write!(svg, "<polyline class=\"{}\" points=\"{}\"/>", class(model), path.join(" "));
        for (users, value) in points {
            let _ = write!(
                svg,
                "<circle class=\"{}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\">\
                 <title>{model}, {users:.0} users: {value:.2}</title></circle>",
                class(model),
                x(users),
                y(value),
            );
        }
    }
    svg + "</svg>\n"
}

fn begin(width: f64, height: f64, label: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{label}\">"
    )
}

fn class(model: Version) -> &'static str {
    match model {
        Version::V1 => "v1",
        Version::V2 => "v2",
        Version::V3 => "v3",
    }
}
