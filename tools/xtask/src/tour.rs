//! The README's tour: runs its commands and compares their answers with the README's.
//!
//! Each `sh` block of the section "A tour" is followed by a block with its answers: `json` has one
//! document for each command; `http` has the status line and some headers, and after an empty line the
//! body, if there is one. UUIDs and times of the answers may differ, and so may the order of fields.

use std::{
    fs,
    process::{Command, Stdio},
};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::local::Local;

/// The number of attempts of a step that waits for the change feed.
const MAX_ATTEMPTS: u32 = 10;

/// Runs the tour against `api`, or else against a new `cargo local --demo`.
pub(crate) fn tour(api: Option<String>) -> anyhow::Result<()> {
    let readme = fs::read_to_string("README.md").context("run this in the workspace's root")?;
    let steps = steps(&readme)?;
    let (_local, api) = if let Some(api) = api {
        (None, api)
    } else {
        let (local, api) = Local::demo()?;
        (Some(local), api)
    };
    for step in &steps {
        let script = step.script.replace("localhost:7071/api", api.trim_end_matches('/'));
        eprintln!("{script}");
        // Only reads follow a pause, so they can be repeated.
        let mut attempts = if script.starts_with("sleep ") { MAX_ATTEMPTS } else { 1 };
        loop {
            let output = run(&script)?;
            eprintln!("{output}");
            attempts -= 1;
            match compare(step.shown, &output) {
                Ok(()) => break,
                Err(_) if attempts > 0 => {}
                Err(error) => return Err(error.context(format!("README.md, after:\n{script}"))),
            }
        }
    }
    Ok(())
}

fn run(script: &str) -> anyhow::Result<String> {
    let output = Command::new("bash")
        .args(["-euc", &format!("curl() {{ command curl -sS \"$@\"; echo; }}\n{script}")])
        .stderr(Stdio::inherit())
        .output()
        .context("bash cannot be started")?;
    ensure!(output.status.success(), "a command of the tour failed");
    Ok(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
}

/// A block of commands and the block with their answers.
struct TourStep<'a> {
    script: &'a str,
    shown: Shown<'a>,
}

#[derive(Clone, Copy)]
enum Shown<'a> {
    Json(&'a str),
    Http(&'a str),
}

fn steps(readme: &str) -> anyhow::Result<Vec<TourStep<'_>>> {
    let tour = readme.split("\n## ").find(|section| section.starts_with("A tour"));
    let tour = tour.context("README.md has no tour")?;
    // Every second piece is the inside of a block, which begins with its language.
    let blocks = tour.split("```").skip(1).step_by(2);
    let blocks: Vec<_> = blocks.filter_map(|block| block.split_once('\n')).collect();
    let steps = blocks.chunks(2).map(|pair| match pair {
        [("sh", script), ("json", shown)] => Ok(TourStep { script, shown: Shown::Json(shown) }),
        [("sh", script), ("http", shown)] => Ok(TourStep { script, shown: Shown::Http(shown) }),
        [(_, text), ..] => bail!("README.md does not show what this answers:\n{text}"),
        [] => bail!("an empty chunk"),
    });
    let steps = steps.collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(!steps.is_empty(), "the tour of README.md has no commands");
    Ok(steps)
}

/// Compares the answers that README.md shows with those of the commands.
fn compare(shown: Shown<'_>, answered: &str) -> anyhow::Result<()> {
    let (shown, answered) = match shown {
        Shown::Json(shown) => (shown, answered),
        Shown::Http(shown) => {
            let (shown_head, shown_body) = shown.split_once("\n\n").unwrap_or((shown, ""));
            let (head, body) = answered.split_once("\n\n").unwrap_or((answered, ""));
            let head: Vec<_> = head.lines().map(masked_line).collect();
            for line in shown_head.lines().map(masked_line) {
                ensure!(head.contains(&line), "README.md shows {line:?}, which is not in {head:?}");
            }
            (shown_body, body)
        }
    };
    let shown = documents(shown)?;
    let answered = documents(answered)?;
    ensure!(
        shown == answered,
        "README.md shows\n{}\nand the commands answered\n{}",
        pretty(&shown),
        pretty(&answered)
    );
    Ok(())
}

fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    let mut documents = serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect::<Result<Vec<Value>, _>>()
        .with_context(|| format!("not JSON: {text}"))?;
    documents.iter_mut().for_each(mask);
    Ok(documents)
}

fn pretty(documents: &[Value]) -> String {
    let lines: Vec<_> = documents.iter().map(|document| format!("{document:#}")).collect();
    lines.join("\n")
}

/// Replaces UUIDs and times.
fn mask(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(kind) = varying(text) {
                *text = kind.to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(fields) => fields.values_mut().for_each(mask),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a line of `name: "value"` with the kind of the value instead of a value that varies.
fn masked_line(line: &str) -> String {
    match line
        .split_once(": \"")
        .and_then(|(name, value)| Some((name, varying(value.trim_end_matches('"'))?)))
    {
        Some((name, kind)) => format!("{name}: \"{kind}\""),
        None => line.to_owned(),
    }
}

/// Returns the kind of a text whose value differs from run to run.
fn varying(text: &str) -> Option<&'static str> {
    let shape: String = text
        .chars()
        .map(|c| match c {
            '0'..='9' => '0',
            'a'..='f' => 'a',
            c => c,
        })
        .collect();
    if shape == "0000-00-00T00:00:00.000Z" {
        return Some("<time>");
    }
    let groups: Vec<_> = text.split('-').collect();
    let lengths: Vec<_> = groups.iter().map(|group| group.len()).collect();
    let hexadecimal = groups.concat().chars().all(|c| c.is_ascii_hexdigit());
    (hexadecimal && lengths == [8, 4, 4, 4, 12]).then_some("<uuid>")
}

#[cfg(test)]
mod tests {
    use super::{Shown, compare, steps};

    const SHOWN: &str = r#"
        {"id": "1c69076b-3548-535a-a6cb-b348dc73583d", "n": 1, "at": "2026-11-22T13:09:44.621Z"}
        {"id": "nell"}
    "#;

    #[test]
    fn ids_and_times_may_differ_and_fields_may_change_places() {
        let answered = "{\"at\":\"2027-01-01T00:00:00.000Z\",\"id\":\
             \"00000000-0000-535a-a6cb-000000000000\",\"n\":1}\n{\"id\":\"nell\"}\n";
        compare(Shown::Json(SHOWN), answered).unwrap();
    }

    #[test]
    fn another_value_another_field_and_a_missing_answer_are_errors() {
        for answered in [
            r#"{"id": "1c69076b-3548-535a-a6cb-b348dc73583d", "n": 2, "at": "2026-11-22T13:09:44.621Z"} {"id": "nell"}"#,
            r#"{"id": "1c69076b-3548-535a-a6cb-b348dc73583d", "at": "2026-11-22T13:09:44.621Z"} {"id": "nell"}"#,
            r#"{"id": "1c69076b-3548-535a-a6cb-b348dc73583d", "n": 1, "at": "2026-11-22T13:09:44.621Z"}"#,
            r#"{"id": "1c69076b-3548-535a-a6cb-b348dc73583d", "n": 1, "at": "yesterday"} {"id": "nell"}"#,
        ] {
            let error = compare(Shown::Json(SHOWN), answered).unwrap_err();
            assert!(error.to_string().contains("the commands answered"), "{error}");
        }
    }

    #[test]
    fn the_shown_headers_are_compared_and_no_others() {
        let shown =
            "HTTP/1.1 200 OK\netag: \"1c69076b-3548-535a-a6cb-b348dc73583d\"\n\n{\"n\": 1}\n";
        let answered = "HTTP/1.1 200 OK\ndate: today\netag: \"00000000-3548-535a-a6cb-b348dc73583d\"\n\n{\"n\":1}\n";
        compare(Shown::Http(shown), answered).unwrap();
        compare(Shown::Http(shown), &answered.replace("200 OK", "201 Created")).unwrap_err();
        compare(Shown::Http(shown), &answered.replace("etag", "tag")).unwrap_err();
        compare(Shown::Http(shown), &answered.replace("1}", "2}")).unwrap_err();
        compare(Shown::Http("HTTP/1.1 204 No Content\n"), "HTTP/1.1 204 No Content\n\n\n").unwrap();
    }

    #[test]
    fn a_command_without_an_answer_is_an_error() {
        let readme =
            "# A\n\n## A tour\n\n```sh\none\n```\n\n```json\n1\n```\n\n```sh\ntwo\n```\n\n## B\n";
        let error = steps(readme).err().unwrap().to_string();
        assert!(error.contains("two") && !error.contains("one"), "{error}");
    }

    #[test]
    fn the_readme_shows_the_answers_of_all_its_commands() {
        steps(include_str!("../../../README.md")).map(|steps| assert!(steps.len() > 5)).unwrap();
    }
}
