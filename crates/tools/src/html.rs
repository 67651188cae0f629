//! Reports as one HTML file, readable in light and in dark, with charts as SVG.

pub mod charts;
pub mod page;
