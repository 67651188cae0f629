//! The report as one HTML file.

use tributary_tools::html::page::check_page;

use crate::{posts, support::Folder};

fn page(folder: &Folder, more: &[&str]) -> String {
    let files = ["--items", "items.jsonl", "--requests", "requests.jsonl", "--html", "report.html"];
    let said = folder.advise(&[&files, more].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    folder.read("report.html")
}

#[test]
fn the_page_has_all_charts_and_needs_nothing_from_elsewhere() {
    let folder = posts::folder();
    let page = page(&folder, &["--items-in-container", "400000000"]);
    check_page(&page);
    assert!(page.contains("prefers-color-scheme:dark"));
    assert!(page.contains("<h1>Partition key: /userId</h1>"), "{page}");
    for title in
        ["Distribution", "Fan-out of each kind of request", "Writes over time", "The container"]
    {
        assert!(page.contains(title), "{title}");
    }
    assert!(page.contains("of the writes</title>"), "a heat map has cells");
}

/// Keys and kinds are texts of the user: none may become a tag.
#[test]
fn texts_of_the_user_are_no_html() {
    let item = |n: u32| {
        format!(
            "{{\"id\": \"{n}\", \"user\": \"<script>{}\", \"createdAt\": \"2026-11-{:02}\"}}\n",
            n % 3,
            n % 20 + 1
        )
    };
    let folder = posts::folder().with("items.jsonl", &(0..300).map(item).collect::<String>()).with(
        "requests.jsonl",
        "{\"kind\": \"<img src=x>\", \"operation\": \"query\", \"filters\": {\"/user\": \"?\"}}\n",
    );
    let page = page(&folder, &[]);
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    assert!(page.contains("&lt;img"), "{page}");
}
