//! A heat map: the logical partitions with the most writes over time.

use std::fmt::Write as _;

use tributary_tools::{escape, html::charts::begin};

use crate::report::WriteHotness;

const NAME_WIDTH: f64 = 230.0;
const MAP_WIDTH: f64 = 760.0;
const ROW_HEIGHT: f64 = 18.0;

/// The longest name of a partition, in characters.
const MAX_NAME_CHARACTERS: usize = 32;

/// Returns the map as SVG: a row for each partition, a column for each stretch of time, the darker the
/// larger the share of the writes of its time.
pub(super) fn heat_map(hotness: &WriteHotness) -> String {
    #[expect(clippy::cast_precision_loss, reason = "some tens")]
    let columns = hotness.columns.len().max(1) as f64;
    #[expect(clippy::cast_precision_loss, reason = "some tens")]
    let rows = hotness.heat.len() as f64;
    let column = (MAP_WIDTH - NAME_WIDTH) / columns;
    let height = rows * ROW_HEIGHT + 24.0;
    let mut svg = begin(MAP_WIDTH, height, "writes of each logical partition over time");
    let mut y = 0.0;
    for row in &hotness.heat {
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.1}\">{}</text>",
            y + ROW_HEIGHT - 5.0,
            escape(&shortened(named(&row.key)))
        );
        let mut x = NAME_WIDTH;
        for (at, share) in hotness.columns.iter().zip(&row.shares) {
            if let Some(share) = share.filter(|share| *share > 0.0) {
                let _ = write!(
                    svg,
                    "<rect class=\"m1\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                     fill-opacity=\"{:.2}\"><title>{} {}: {:.1} % of the writes</title></rect>",
                    y + 1.0,
                    column.max(1.0),
                    ROW_HEIGHT - 2.0,
                    0.15 + 0.85 * share.min(1.0),
                    escape(named(&row.key)),
                    escape(at),
                    share * 100.0
                );
            }
            x += column;
        }
        y += ROW_HEIGHT;
    }
    let ends = [
        ("start", NAME_WIDTH, hotness.columns.first()),
        ("end", MAP_WIDTH, hotness.columns.last()),
    ];
    for (anchor, x, at) in ends {
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
            height - 6.0,
            escape(at.map_or("", |at| at.as_str()))
        );
    }
    svg + "</svg>\n"
}

/// Returns the name of a key. Of very many keys, those with few items have only a hash.
pub(super) fn named(key: &str) -> &str {
    if key.is_empty() { "one of very many keys" } else { key }
}

fn shortened(key: &str) -> String {
    if key.chars().count() <= MAX_NAME_CHARACTERS {
        return key.to_owned();
    }
    key.chars().take(MAX_NAME_CHARACTERS - 1).chain(['…']).collect()
}
