//! The tables of `docs/costs.md`, made from measurements, and compared with the page.

use std::fmt::Write;

use tributary_testing::{
    budget::hold_table,
    costs_file::{MeasuredCost, hold_costs},
};

use super::Cost;
use crate::{
    budgets::{document, path},
    world::TestApp,
};

/// The costs of the third model of the seed article, each with its request.
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

/// Compares the measurements with the tables.
pub(super) fn hold(costs: &[Cost]) {
    for table in [requests(costs), million(costs), article(costs)] {
        hold_table(path("docs/costs.md"), &table);
    }
    let costs = costs.iter().map(|cost| MeasuredCost {
        id: cost.id,
        method: cost.method.as_str(),
        path: cost.path.clone(),
        // The method stands before the path.
        what: cost.what.split_once(' ').unwrap().1,
        store_requests: cost.store_requests.len(),
        request_units: cost.foreground_ru,
    });
    hold_costs::<TestApp>("docs/costs.json", costs);
}

fn requests(costs: &[Cost]) -> String {
    let mut table = String::from(
        "| request | what | store requests | request units | which |\n\
         | --- | --- | ---: | ---: | --- |\n",
    );
    for Cost { id, what, store_requests, foreground_ru, .. } in costs {
        let n = store_requests.len();
        let which = store_requests.join(", ");
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
    let page = document("docs/costs.md");
    let mut table = String::from(
        "| request | what | here | article | here / article | ledger of the article's | here / ledger |\n\
         | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (id, article) in ARTICLE {
        let cost = costs.iter().find(|cost| cost.id == id).unwrap();
        // What the ledger says of the article's items was measured once, and stands in the table only.
        let mut rows = page.lines().map(cells);
        let row = rows.find(|row| row.len() == 7 && row[0] == id).unwrap();
        let of_ledger: f64 = row[5].parse().unwrap();
        let what = cost.what;
        let here = cost.foreground_ru;
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

fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split('|').map(str::trim).collect()
}
