//! The report as one HTML file.

use super::{LARGE, posts};

/// Keys and kinds are texts of the user: none may become a tag.
#[test]
fn the_page_has_all_parts_and_pictures_and_needs_nothing_from_elsewhere() {
    let item = |n: u32| {
        let tag = n / 160 % 10;
        format!("{{\"id\": \"{n}\", \"userId\": \"<script>{}\", \"tag\": {tag}}}\n", n * 7 % 200)
    };
    let query = |kind: &str, path: &str| {
        format!(
            "{{\"kind\": \"{kind}\", \"operation\": \"query\", \"filters\": {{\"{path}\": \"?\"}}, \
             \"frequency\": {{\"perDay\": 9000}}}}\n"
        )
    };
    let folder = posts()
        .with("items.jsonl", &(0..1_600).map(item).collect::<String>())
        .with("requests.jsonl", &(query("<img src=x>", "/userId") + &query("of a tag", "/tag")));
    let more = ["--current", "/tag", "--candidate", "/userId", "--html", "report.html"];
    let output = folder.advise(&[&LARGE[..], &more].concat());
    assert!(output.code < 2, "{}", output.err);
    let page = folder.read("report.html");
    assert_eq!(page.matches("<svg").count(), 3, "{page}");
    for part in ["Why /userId", "Requests with /userId", "The container", "&lt;script", "&lt;img"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("<img") && !page.contains("<link"));
}
