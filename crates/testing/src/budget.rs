//! Budgets: what a request of the app costs in store requests and request units, held against a text
//! or against a table in a document.
//!
//! A request that costs more than its budget fails the test, and so does one that costs less, until the
//! budget says so. The local endpoint charges by the same rules each time, to the hundredth of a request
//! unit, so a budget fails only when the app, its items or its indexes have changed.
//!
//! The first request of a process to a container reads the container itself, which is not an item and not
//! counted, and neither are the reads of the states of projections, which cost by the hour. A command that remembers what it has read may cost less the second time: a story sends the
//! requests of its budget in the order in which a caller would.

use std::{collections::BTreeSet, env, fmt::Write as _, fs, path::Path};

use serde_json::Value;
use tributary_local::cosmos::{RequestKind, StoreRequest};

use crate::{
    Answer, AppUnderTest, World,
    costs_file::{MeasuredCost, hold_costs},
};

/// Request units and dollars are written to the hundredth.
pub(crate) const TOLERANCE: f64 = 0.015;

/// The environment variable with which figures are written instead of compared.
pub(crate) const UPDATE: &str = "UPDATE_BUDGETS";

/// Returns true if figures are written instead of compared.
pub(crate) fn updates() -> bool {
    env::var_os(UPDATE).is_some_and(|update| update == "1")
}

/// The cost of a request of the app.
#[derive(Debug)]
#[non_exhaustive]
pub struct Cost {
    /// The answer.
    pub answer: Answer,
    /// The store requests that the app sent before it answered.
    pub store_requests: Vec<StoreRequest>,
}

/// Sends a request to the app, and returns its answer with its store requests.
pub async fn cost<A: AppUnderTest>(
    world: &World<A>,
    (method, path, body): (&str, &str, Option<Value>),
) -> Cost {
    let n_before = world.endpoint.request_count();
    let answer = world.call(method, path, &[], body).await;
    assert!(answer.status.is_success(), "{method} {path}: {}", answer.text);
    let mut store_requests = world.endpoint.requests_since(n_before);
    if let Ok(said) = answer.header("x-ms-request-charge").parse::<f64>() {
        let charged = request_units(&store_requests);
        assert!(
            (said - charged).abs() < 0.01,
            "{method} {path} says {said} RU in x-ms-request-charge, and was charged {charged} RU"
        );
    }
    // The state of an eager projection is read every few seconds, for all commands and batches together.
    store_requests.retain(|request| request.container != "projections");
    Cost { answer, store_requests }
}

/// Sends a request and holds its cost against its budget, such as "2 requests, 9.26 RU: read rooms,
/// replace rooms". Returns the answer.
///
/// To write a budget, begin with an empty text: the error has the whole cost.
///
/// # Panics
///
/// When the cost is another one, when a store request is a fan-out (such a request belongs into a table,
/// [`budget_table`]), and where [`cost`] does.
pub async fn budget<A: AppUnderTest>(
    world: &World<A>,
    (method, path, body): (&str, &str, Option<Value>),
    budget: &str,
) -> Answer {
    let Cost { answer, store_requests } = cost(world, (method, path, body)).await;
    assert!(
        store_requests.iter().all(|request| request.names_partition_key),
        "{method} {path} sends a fan-out to the store: give its query a partition key, or hold its \
         cost against a table with budget_table"
    );
    let kinds: Vec<String> = store_requests.iter().map(kind).collect();
    let n = store_requests.len();
    let ru = request_units(&store_requests);
    let s = if n == 1 { "" } else { "s" };
    let cost = format!("{n} request{s}, {ru:.2} RU: {}", kinds.join(", "));
    assert_eq!(cost, budget, "{method} {path}: the first is its cost, the second its budget");
    answer
}

/// Sends requests, each as method, words, path and body, and holds their costs, in the foreground and in
/// the background, against the table `| {of} request | …` of a document, whose path begins in
/// [`AppUnderTest::ROOT`], and against the file `costs.json` beside it, if there is one
/// ([`hold_costs`]). Returns the answers.
pub async fn budget_table<A: AppUnderTest>(
    world: &World<A>,
    of: &str,
    requests: impl IntoIterator<Item = (&str, &str, String, Option<Value>)>,
    document: &str,
) -> Vec<Answer> {
    let mut table = format!(
        "| {of} request | what | store requests | request units | background | which |\n\
         | --- | --- | ---: | ---: | ---: | --- |\n"
    );
    let mut answers = Vec::new();
    let mut costs = Vec::new();
    for (method, what, path, body) in requests {
        let Cost { answer, store_requests } = cost(world, (method, &path, body)).await;
        let background = background(world).await;
        let mut kinds = Vec::new();
        for request in &store_requests {
            let fans_out = if request.names_partition_key { "" } else { " in all partitions" };
            let kind = format!("{}{fans_out}", kind(request));
            // Those to several partitions are sent at the same time, and come in any order.
            if fans_out.is_empty() || !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let n = store_requests.len();
        let which = in_short(&kinds).join(", ");
        let ru = request_units(&store_requests);
        let later = request_units(&background);
        writeln!(table, "| {method} | {what} | {n} | {ru:.2} | {later:.2} | {which} |").unwrap();
        answers.push(answer);
        costs.push(MeasuredCost {
            id: "",
            method,
            path,
            what,
            store_requests: n,
            request_units: ru,
        });
    }
    hold_table(Path::new(A::ROOT).join(document), &table);
    let file = Path::new(document).with_file_name("costs.json");
    if Path::new(A::ROOT).join(&file).exists() {
        hold_costs::<A>(&file.to_string_lossy(), costs);
    }
    answers
}

/// Prints a Markdown table, and holds it against the one with the same head in a document. The first two
/// cells of a row are its name. Numbers are equal to the hundredth.
///
/// With `UPDATE_BUDGETS=1` in the environment the table is written into the document, in place of the one
/// with the same head. Tests that write one document run one after the other:
/// `UPDATE_BUDGETS=1 cargo test costs -- --test-threads=1`.
pub fn hold_table(document: impl AsRef<Path>, table: &str) {
    println!("{table}");
    let path = document.as_ref();
    let document = fs::read_to_string(path).unwrap();
    let wrong = differences(table, &document);
    if wrong.is_empty() {
        return;
    }
    let path_of = path.display();
    assert!(
        updates(),
        "{path_of} has another budget; {UPDATE}=1 writes the table above:\n{}",
        wrong.join("\n")
    );
    let head = table.lines().next().unwrap_or_default();
    let updated = with_table(table, &document).unwrap_or_else(|| {
        panic!("{path_of} has no table with this head, so add the line:\n{head}")
    });
    fs::write(path, updated).unwrap();
}

/// Delivers all changes, and returns the store requests that they have caused.
pub async fn background<A: AppUnderTest>(world: &World<A>) -> Vec<StoreRequest> {
    let n_before = world.endpoint.request_count();
    world.settle().await;
    world.endpoint.requests_since(n_before).into_iter().filter(is_caused_by_a_change).collect()
}

/// Returns true if a change has caused the store request. Triggers also read and write leases, read
/// change feeds without a change, and read the states of projections: those requests cost by the hour, and
/// not by the change.
pub fn is_caused_by_a_change(request: &StoreRequest) -> bool {
    let status = request.answer.as_ref().map_or(0, |answer| answer.status);
    !["leases", "projections"].contains(&request.container.as_str())
        && (request.kind != RequestKind::ChangeFeed || status == 200)
}

/// Returns the request units of store requests together.
pub fn request_units(requests: &[StoreRequest]) -> f64 {
    let answers = requests.iter().filter_map(|request| request.answer.as_ref());
    answers.fold(0.0, |sum, answer| sum + answer.request_units)
}

/// Returns the kind and the container of a store request, such as "read rooms".
pub fn kind(request: &StoreRequest) -> String {
    format!("{:?} {}", request.kind, request.container).to_lowercase()
}

/// Returns the kinds in their order; ten or more of one kind in a row are one text.
fn in_short(kinds: &[String]) -> Vec<String> {
    let words = kinds.chunk_by(|kind, next| kind == next).flat_map(|same| match same.len() {
        0..10 => same.to_vec(),
        n => vec![format!("{n} × {}", same[0])],
    });
    words.collect()
}

/// Returns the document with a table in place of the one with the same head; `None` where it has none.
fn with_table(table: &str, document: &str) -> Option<String> {
    let head = table.lines().next()?;
    let mut lines = document.split_inclusive('\n');
    let mut updated: String = lines.by_ref().take_while(|line| line.trim_end() != head).collect();
    if updated.len() == document.len() {
        return None;
    }
    updated.push_str(table);
    updated.extend(lines.skip_while(|line| line.starts_with('|')));
    Some(updated)
}

/// Returns a sentence for each cell of a Markdown table that differs from the table with the same head in
/// a document.
fn differences(table: &str, document: &str) -> Vec<String> {
    let mut lines = table.lines();
    let head = lines.next().unwrap_or_default();
    let columns = cells(head);
    let is: Vec<Vec<&str>> = lines.skip(1).map(cells).collect();
    let was = document.lines().skip_while(|line| *line != head).skip(2);
    let was: Vec<Vec<&str>> = was.take_while(|line| line.starts_with('|')).map(cells).collect();
    let key = |row: &Vec<&str>| row.iter().take(2).copied().collect::<Vec<_>>().join(" ");

    let mut wrong = Vec::new();
    for row in &is {
        let name = key(row);
        let Some(before) = was.iter().find(|before| key(before) == name) else {
            wrong.push(format!("{name}: the document has no such row"));
            continue;
        };
        for ((column, is), was) in columns.iter().zip(row).zip(before) {
            let verdict = match (is.parse::<f64>(), was.parse::<f64>()) {
                (Ok(now), Ok(then)) if (now - then).abs() <= TOLERANCE => continue,
                (Ok(now), Ok(then)) if now > then => "it has grown",
                (Ok(_), Ok(_)) => "tighten the budget",
                _ if is == was => continue,
                _ => "it has changed",
            };
            wrong.push(format!("{name}: {column} was {was}, is {is}: {verdict}"));
        }
    }
    let known: BTreeSet<String> = is.iter().map(key).collect();
    let gone = was.iter().map(key).filter(|name| !known.contains(name));
    wrong.extend(gone.map(|name| format!("{name}: no request is this one")));
    wrong
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_that_differs_is_named() {
        let table = |rows: &str| format!("| id | what | RU | which |\n| - | - | - | - |\n{rows}");
        let document = table(
            "| A | same | 1.00 | read |\n| B | more | 2.00 | read |\n| C | less | 2.00 | read |\n\
             | D | other | 2.00 | read |\n| E | gone | 2.00 | read |\n",
        );
        let document = format!("Text.\n\n{document}\n| F | new | 1.00 | read |\n");
        let is = table(
            "| A | same | 1.01 | read |\n| B | more | 2.02 | read |\n| C | less | 1.98 | read |\n\
             | D | other | 2.00 | query |\n| F | new | 1.00 | read |\n",
        );
        assert_eq!(
            differences(&is, &document),
            [
                "B more: RU was 2.00, is 2.02: it has grown",
                "C less: RU was 2.00, is 1.98: tighten the budget",
                "D other: which was read, is query: it has changed",
                "F new: the document has no such row",
                "E gone: no request is this one",
            ]
        );
        assert_eq!(differences(&is, &is), [""; 0]);
    }
}
