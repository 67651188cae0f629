//! Measures the loop of `cargo local --demo --watch`: the time from a saved edit to the first answer that
//! shows it.
//!
//! It edits the files of a work tree at HEAD, so no file of yours is touched. The first build is not measured.

use std::{
    env, fs,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{
    local::Local,
    tree::{Tree, run},
};

const PAUSE: Duration = Duration::from_millis(10);

const MAX_WAIT: Duration = Duration::from_mins(2);

/// An edit that is made again and again, each time with another number.
struct Edit {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    replacement: fn(usize) -> String,
    /// The request whose answer shows it.
    path: &'static str,
    is_shown: fn(&str, usize) -> bool,
}

const EDITS: [Edit; 2] = [
    Edit {
        name: "a query, in Rust",
        file: "domains/blog/src/queries.rs",
        text: "newest(limit)?",
        replacement: |n| format!("newest(limit.min({n}))?"),
        path: "/api/feed",
        is_shown: |answer, n| {
            serde_json::from_str::<Value>(answer)
                .is_ok_and(|feed| feed["items"].as_array().is_some_and(|items| items.len() == n))
        },
    },
    Edit {
        name: "a file of the page",
        file: "src/page/index.html",
        text: "<title>",
        replacement: |n| format!("<title>Edit {n}: "),
        path: "/",
        is_shown: |answer, n| answer.contains(&format!("Edit {n}: ")),
    },
];

/// Makes each edit `count` times, and prints how long its answers took.
pub(crate) fn edit_loop(count: usize) -> anyhow::Result<()> {
    ensure!((1..30).contains(&count), "--edits is 1 to 29: the demo has 30 posts");
    let tree = Tree::at_head()?;
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .args(["local", "--demo", "--watch", "--port", "0", "--cosmos-port", "0"])
        .current_dir(&tree.path)
        .env("CARGO_TARGET_DIR", &tree.target)
        // As on a laptop: CI switches it off.
        .env_remove("CARGO_INCREMENTAL");
    let (mut local, api) = Local::start(&mut cargo)?;
    let address = api.trim_end_matches("/api");
    println!("| edit | edits | p50, s | longest, s |\n| --- | ---: | ---: | ---: |");
    for edit in EDITS {
        let file = tree.path.join(edit.file);
        let original = fs::read_to_string(&file).with_context(|| edit.file.to_owned())?;
        ensure!(original.contains(edit.text), "{} has no {:?}", edit.file, edit.text);
        let mut times = Vec::new();
        for n in 1..=count {
            let edited = original.replacen(edit.text, &(edit.replacement)(n), 1);
            let saved = Instant::now();
            fs::write(&file, edited)?;
            // Requests before it would take the processors from the build.
            local.wait_until_ready()?;
            while !(edit.is_shown)(&answer(&format!("{address}{}", edit.path))?, n) {
                ensure!(saved.elapsed() < MAX_WAIT, "{}: no answer shows the edit", edit.name);
                sleep(PAUSE);
            }
            times.push(saved.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        let [median, longest] = [times[(count - 1) / 2], times[count - 1]];
        println!("| {} | {count} | {median:.2} | {longest:.2} |", edit.name);
    }
    Ok(())
}

fn answer(url: &str) -> anyhow::Result<String> {
    let curl = ["--silent", "--show-error", "--compressed", "--max-time", "30", url];
    Ok(String::from_utf8_lossy(&run(Command::new("curl").args(curl))?.stdout).into_owned())
}
