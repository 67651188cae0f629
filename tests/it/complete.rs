//! Each function has a budget, in a row of a document; `CONTRIBUTING.md` has the steps.

use tributary_functions::http::FunctionLine;

use crate::{budgets::document, world::World};

/// Functions whose budget is in their story: the ids of their items are of the server.
const IN_STORIES: [&str; 1] = ["DeleteComment"];

#[test]
fn every_function_has_a_budget() {
    let tables = [document("docs/costs.md"), document("docs/webstore.md")].concat();
    let is_of_operators = |route: &str| {
        ["/api/dead-letters", "/api/projections"].iter().any(|path| route.starts_with(path))
    };
    let lacks_row = |FunctionLine { method, route, .. }: &FunctionLine| {
        !tables.lines().any(|row| budgets(row, method.as_str(), route))
    };
    let mut missing = World::http_functions();
    missing.retain(|function| !is_of_operators(function.route) && lacks_row(function));
    let missing: Vec<_> = missing.iter().map(|function| function.name).collect();
    assert_eq!(missing, IN_STORIES, "docs/costs.md or docs/webstore.md needs a row for the others");
}

/// Returns true if a line names this request: `PUT /things/{thingId}`, or a cell with `PUT` and a
/// later one with the path, whose beginning may be `…`.
fn budgets(row: &str, method: &str, route: &str) -> bool {
    let of_route = |path: &str| {
        let path = path.split('?').next().unwrap_or_default();
        match path.strip_prefix('…') {
            Some(end) => route.ends_with(end),
            None => route.strip_prefix("/api") == Some(path),
        }
    };
    let mut quoted = row.split('`').skip(1).step_by(2);
    quoted.any(|text| match text.split_once(' ') {
        Some((verb, path)) => verb == method && of_route(path),
        None => row.contains(&format!("| {method} |")) && of_route(text),
    })
}
