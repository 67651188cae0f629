//! The tables of `docs/costs.md`, made from what was measured, and compared with what stands there.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use super::Cost;

/// Request units and dollars are written to the hundredth.
const TOLERANCE: f64 = 0.015;

/// What the seed article says that its third model costs, and under which request.
const ARTICLE: [(&str, f64); 10] = [
    ("C1", 5.71),
    ("Q1", 1.0),
    ("C2", 8.76),
    ("Q2", 1.0),
    ("Q3", 6.46),
    ("C3", 15.27),
    ("Q4", 7.72),
    ("C4", 14.67),
    ("Q5", 8.92),
    ("Q6", 16.97),
];

/// Prints the tables, and names every row that is not as in the documents.
pub(super) fn check(costs: &[Cost]) {
    let docs = document("docs/costs.md");
    let tables = [requests(costs), million(costs), article(costs)];
    println!("{}", tables.join("\n"));
    let wrong: Vec<String> = tables.iter().flat_map(|table| differences(table, &docs)).collect();
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "docs/costs.md has another budget; its tables are above:\n{wrong}");
}

pub(crate) fn document(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn requests(costs: &[Cost]) -> String {
    let mut table = String::from(
        "| request | what | store requests | request units | which |\n\
         | --- | --- | ---: | ---: | --- |\n",
    );
    for Cost { id, what, store_requests, foreground_ru, .. } in costs {
        let (n, which) = (store_requests.len(), store_requests.join(", "));
        writeln!(table, "| {id} | {what} | {n} | {foreground_ru:.2} | {which} |").unwrap();
    }
    table
}

fn million(costs: &[Cost]) -> String {
    let infrastructure = document("docs/infrastructure.md");
    let price = |row: &str| -> f64 {
        let line = infrastructure.lines().find(|line| line.starts_with(&format!("| {row} | ")));
        let line = line.unwrap_or_else(|| panic!("docs/infrastructure.md has no price: {row}"));
        cells(line)[1].parse().unwrap()
    };
    let prices = [price("serverless"), price("autoscale, all of it used")];
    let mut table = String::from(
        "| request | what | foreground | background | serverless | autoscale |\n\
         | --- | --- | ---: | ---: | ---: | ---: |\n",
    );
    for Cost { id, what, foreground_ru, background_ru, .. } in costs {
        let [serverless, autoscale] = prices.map(|price| price * (foreground_ru + background_ru));
        writeln!(
            table,
            "| {id} | {what} | {foreground_ru:.2} | {background_ru:.2} | {serverless:.2} | {autoscale:.2} |"
        )
        .unwrap();
    }
    table
}

/// The first request of each kind beside the article's figure, and beside what the ledger says of
/// the article's own model.
fn article(costs: &[Cost]) -> String {
    let ledger = document("docs/local-endpoint.md");
    let mut table = String::from(
        "| request | what | here | article | here / article | ledger of the article's | here / ledger |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (id, article) in ARTICLE {
        let cost = costs.iter().find(|cost| cost.id == id).unwrap();
        let line = ledger.lines().find(|line| line.starts_with(&format!("| {id} | ")));
        let of_ledger: f64 = cells(line.unwrap())[8].parse().unwrap();
        let (what, here) = (cost.what, cost.foreground_ru);
        writeln!(
            table,
            "| {id} | {what} | {here:.2} | {article:.2} | {:.2} | {of_ledger:.2} | {:.2} |",
            here / article,
            here / of_ledger
        )
        .unwrap();
    }
    table
}

/// Where a table is not as the one with its head in a document: a sentence for each cell.
pub(crate) fn differences(table: &str, document: &str) -> Vec<String> {
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
            wrong.push(format!("{name}: is not there"));
            continue;
        };
        for ((column, is), was) in columns.iter().zip(row).zip(before) {
            let verdict = match (is.parse::<f64>(), was.parse::<f64>()) {
                (Ok(now), Ok(then)) if (now - then).abs() <= TOLERANCE => continue,
                (Ok(now), Ok(then)) if now > then => "it has grown",
                (Ok(_), Ok(_)) => "tighten the budget",
                _ if is == was => continue,
                _ => "it is another",
            };
            wrong.push(format!("{name}: {column} was {was}, is {is}: {verdict}"));
        }
    }
    let known: BTreeSet<String> = is.iter().map(key).collect();
    let gone = was.iter().map(key).filter(|name| !known.contains(name));
    wrong.extend(gone.map(|name| format!("{name}: nobody asks")));
    wrong
}

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}

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
            "D other: which was read, is query: it is another",
            "F new: is not there",
            "E gone: nobody asks",
        ]
    );
    assert_eq!(differences(&is, &is), [""; 0]);
}
