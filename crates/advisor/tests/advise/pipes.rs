//! Items that come through a pipe are read like those of a file.

use std::process::Command;

use serde_json::Value;

use crate::{posts, support::Folder};

/// Runs a line of bash in the folder, in which `$advise` is the program.
fn bash(folder: &Folder, line: &str) -> (i32, String, String) {
    let program = env!("CARGO_BIN_EXE_tributary-partition");
    let mut command = Command::new("bash");
    command.args(["-c", line]).env("advise", format!("{program} advise"));
    let output = folder.output(command);
    (output.code, output.out, output.err)
}

/// Returns the number of items that a line of bash reads.
#[track_caller]
fn items_of(folder: &Folder, line: &str) -> u64 {
    let (code, out, err) = bash(folder, line);
    assert_eq!(code, 0, "{line}: {err}");
    let advice: Value = serde_json::from_str(&out).unwrap();
    advice["items"].as_u64().unwrap()
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let folder = posts::folder();
    for line in [
        "$advise --items <(cat items.jsonl) --candidate /userId --json",
        "$advise --items <(gzip -c items.jsonl | zcat) --requests <(cat requests.jsonl) --json",
        "cat items.jsonl | $advise --items /dev/stdin --json",
        "$advise --items /dev/stdin --json < items.jsonl",
        "mkfifo fifo; cat items.jsonl > fifo & $advise --items fifo --json",
    ] {
        assert_eq!(items_of(&folder, line), 1_600, "{line}");
    }
    let two =
        "$advise --items <(cat items.jsonl) --items <(cat items.jsonl) --candidate /tag --json";
    assert_eq!(items_of(&folder, two), 3_200);
}

/// The part for the proposed keys is read ahead, and the rest after it is not lost.
#[test]
fn a_long_pipe_is_read_to_its_end() {
    let item = |n: u32| format!("{{\"id\": \"{n}\", \"text\": \"{}\"}}\n", "a".repeat(1 << 20));
    let folder = Folder::new().with("items.jsonl", &(0..40).map(item).collect::<String>());
    let line = "$advise --items <(cat items.jsonl) --candidate /id --json";
    assert_eq!(items_of(&folder, line), 40);
}

#[test]
fn a_line_that_is_too_long_is_an_error_wherever_it_stands() {
    for before in [0, 4] {
        let item = format!("{{\"id\": \"1\", \"text\": \"{}\"}}\n", "a".repeat(1 << 20));
        let long = format!("{{\"id\": \"2\", \"text\": \"{}\"}}\n", "a".repeat(32 << 20));
        let folder = Folder::new().with("items.jsonl", &(item.repeat(before) + &long));
        for line in ["$advise --items <(cat items.jsonl)", "$advise --items items.jsonl"] {
            let (code, out, err) = bash(&folder, line);
            assert_eq!((code, out.as_str()), (2, ""), "{line}");
            assert!(err.contains(&format!("line {}: longer than 32 MB", before + 1)), "{err}");
        }
    }
}
