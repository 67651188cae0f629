//! The report as one HTML file.

use tributary_tools::html::page::check_page;

use crate::{posts, support::Folder};

fn page(folder: &Folder, more: &[&str]) -> String {
    let files = ["--items", "items.jsonl", "--requests", "requests.jsonl", "--html", "report.html"];
    let output = folder.advise(&[&files, more].concat());
    assert_eq!(output.code, 0, "{}", output.err);
    folder.read("report.html")
}

#[test]
fn the_page_has_all_charts_and_needs_nothing_from_elsewhere() {
    let folder = posts::folder();
    let page = page(&folder, &["--items-in-container", "400000000", "--sampled", "/userId"]);
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
    // The data and the program of the page itself.
    assert_eq!(page.matches("<script").count(), 2, "{page}");
    assert!(!page.contains("<script>0") && !page.contains("<img"), "{page}");
    assert!(page.contains("&lt;img"), "{page}");
}

#[test]
fn severities_are_words_in_colours_and_limits_are_gauges() {
    let folder = posts::folder();
    let page = page(
        &folder,
        &["--items-in-container", "400000000", "--items-per-day", "1500000", "--sampled", "items"],
    );
    for text in [
        "<span class=\"badge bad\">Warning</span>",
        "data-gauge=\"largest\"",
        "of 20 GB</b>",
        "of 10,000 RU/s</b>",
        "role=\"meter\"",
        "<input type=\"range\" id=\"size\"",
        "<input type=\"range\" id=\"growth\"",
        "<input type=\"range\" id=\"requests\"",
        "initial-scale=1",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn the_way_to_another_key_is_numbered_and_has_its_commands_as_code() {
    let folder = posts::folder();
    let files = ["--items", "items.jsonl", "--requests", "requests.jsonl", "--html", "report.html"];
    let keys = ["--candidate", "/userId", "--current", "/tag", "--container", "posts"];
    assert_eq!(folder.advise(&[&files[..], &keys].concat()).code, 1);
    let page = folder.read("report.html");
    check_page(&page);
    assert!(page.contains("<ol>\n<li>Create the container <code>posts-2</code>"), "{page}");
    assert!(page.contains("<code>az cosmosdb copy create "), "{page}");
}

/// Of 20,000 keys most are counted by their hashes, and the busiest of a day may be among them.
#[test]
fn no_row_of_the_heat_map_is_without_a_name() {
    let item = |n: u32| {
        let second = n % 86_400;
        let time =
            format!("2026-11-22T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60);
        format!("{{\"id\": \"{n}\", \"createdAt\": \"{time}\"}}\n")
    };
    let folder = posts::folder().with("items.jsonl", &(0..60_000).map(item).collect::<String>());
    let output =
        folder.advise(&["--items", "items.jsonl", "--candidate", "/id", "--html", "report.html"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let page = folder.read("report.html");
    assert!(page.contains("one of very many keys"), "all keys have names");
    for blank in ["></text>", "<title> ", "went to .", "went to </p>"] {
        assert!(!page.contains(blank), "{blank}");
    }
}
