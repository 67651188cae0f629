//! The report as one HTML file.

use super::{LARGE, posts};

#[test]
fn the_page_has_all_parts_and_pictures_and_needs_nothing_from_elsewhere() {
    let folder = posts();
    let more = ["--current", "/tag", "--html", "report.html"];
    let output = folder.advise(&[&LARGE[..], &more].concat());
    assert_eq!(output.code, 1, "{}", output.err);
    let page = folder.read("report.html");
    assert!(page.contains("<h1>Partition key: /userId</h1>"), "{page}");
    assert_eq!(page.matches("<svg").count(), 3, "{page}");
    for title in [
        "Why /userId",
        "Requests with /userId",
        "a second copy",
        "The container",
        "To change the key",
    ] {
        assert!(page.contains(title), "{title}");
    }
    assert!(!page.contains("<script") && !page.contains("<link") && !page.contains("src="));
}

/// Keys and kinds are texts of the user: none may become a tag.
#[test]
fn texts_of_the_user_are_no_html() {
    let item = |n: u32| format!("{{\"id\": \"{n}\", \"user\": \"<script>{}\"}}\n", n % 3);
    let folder = posts().with("items.jsonl", &(0..300).map(item).collect::<String>()).with(
        "requests.jsonl",
        "{\"kind\": \"<img src=x>\", \"operation\": \"query\", \"filters\": {\"/user\": \"?\"}}\n",
    );
    let files = ["--items", "items.jsonl", "--requests", "requests.jsonl", "--html", "report.html"];
    let output = folder.advise(&[&files[..], &["--candidate", "/user"]].concat());
    assert_eq!(output.code, 0, "{}", output.err);
    let page = folder.read("report.html");
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    assert!(page.contains("&lt;script") && page.contains("&lt;img"), "{page}");
}
