//! A report as one HTML file: no script, font or image from elsewhere.

use std::fmt::Write as _;

use crate::{Table, escape};

/// The classes of lines and bars, each with its colour.
pub const CLASSES: [&str; 6] = ["m1", "m2", "m3", "m4", "m5", "m6"];

const PAGE_STYLE: &str = "\
:root{color-scheme:light dark;--back:#fff;--text:#1b1f24;--soft:#667;--grid:#dde;\
--m1:#c8455a;--m2:#b98410;--m3:#22789c;--m4:#3c8a4e;--m5:#7a55b0;--m6:#6b7078}\
@media(prefers-color-scheme:dark){:root{--back:#15181c;--text:#e4e7eb;--soft:#99a;--grid:#333a42;\
--m1:#ef7c8e;--m2:#e0b04b;--m3:#5cb8de;--m4:#77c58a;--m5:#b79be6;--m6:#a5acb5}}\
body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif;\
max-width:1100px;margin:2rem auto;padding:0 1rem}\
code{font-family:ui-monospace,monospace;font-size:13px}\
svg{max-width:100%;height:auto}svg text{fill:var(--text);font:12px system-ui,sans-serif}\
svg .value{fill:var(--soft);font-size:10px}\
.grid{stroke:var(--grid)}.seed{stroke:var(--text);stroke-width:2}\
rect.m1,circle.m1{fill:var(--m1)}rect.m2,circle.m2{fill:var(--m2)}\
rect.m3,circle.m3{fill:var(--m3)}rect.m4,circle.m4{fill:var(--m4)}\
rect.m5,circle.m5{fill:var(--m5)}rect.m6,circle.m6{fill:var(--m6)}\
polyline{fill:none;stroke-width:2}\
polyline.m1{stroke:var(--m1)}polyline.m2{stroke:var(--m2)}polyline.m3{stroke:var(--m3)}\
polyline.m4{stroke:var(--m4)}polyline.m5{stroke:var(--m5)}polyline.m6{stroke:var(--m6)}\
.key span{margin-right:1.5rem}.key .m1{color:var(--m1)}.key .m2{color:var(--m2)}\
.key .m3{color:var(--m3)}.key .m4{color:var(--m4)}.key .m5{color:var(--m5)}\
.key .m6{color:var(--m6)}.plots{display:flex;flex-wrap:wrap;gap:12px}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;\
font-variant-numeric:tabular-nums}th,td{padding:2px 8px;text-align:right;\
border-bottom:1px solid var(--grid)}th{font-size:11px;color:var(--soft)}\
th:nth-child(-n+2),td:nth-child(-n+2){text-align:left}";

/// Returns the whole page around its body.
pub fn page(title: &str, body: &str) -> String {
    styled_page(title, "", body)
}

/// Returns the whole page around its body, with styles of its own.
pub fn styled_page(title: &str, style: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{}</title><style>{PAGE_STYLE}\n{style}</style></head>\n<body>\n{body}</body>\n</html>\n",
        escape(title)
    )
}

/// Returns the key of the colours: classes and their names.
pub fn key(names: &[(&str, &str)]) -> String {
    let mut key = String::from("<p class=\"key\">");
    for (class, name) in names {
        let _ = write!(key, "<span class=\"{class}\">■ {}</span>", escape(name));
    }
    key + "</p>\n"
}

/// Returns a table that may be wider than the page.
pub fn wide(table: &Table) -> String {
    format!("<div class=\"wide\">\n{}</div>\n", table.html())
}

/// Checks that a page is whole and needs nothing from elsewhere, for tests.
///
/// # Panics
/// When it is not.
pub fn check_page(html: &str) {
    for outside in ["http", "<link", "<img", "src=", "url(", "@import"] {
        assert!(!html.contains(outside), "{outside}");
    }
    for tag in ["svg", "g", "text", "table", "tr", "td", "th", "div", "p", "h2", "h3"] {
        let opened =
            html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
        assert!(opened > 0, "{tag}");
    }
}
