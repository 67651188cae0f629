//! The file of measured costs, which the page of the API shows.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::{
    AppUnderTest,
    budget::{TOLERANCE, UPDATE, updates},
    checks::openapi::OpenApiDocument,
};

/// The measured cost of a request.
#[derive(Debug, Clone)]
pub struct MeasuredCost<'a> {
    /// The name of the request in the documents; empty where it has none.
    pub id: &'a str,
    /// The method.
    pub method: &'a str,
    /// The path.
    pub path: String,
    /// The words of the table: the path in backticks, and the case behind a comma.
    pub what: &'a str,
    /// The number of its store requests.
    pub store_requests: usize,
    /// Their request units.
    pub request_units: f64,
}

/// Holds the costs of some functions against a file of costs ([`Program::costs`]), whose path begins in
/// [`AppUnderTest::ROOT`]. Numbers are equal to the hundredth.
///
/// With `UPDATE_BUDGETS=1` in the environment they are written into the file, in place of all costs of the same
/// functions.
///
/// [`Program::costs`]: tributary_functions::program::Program::costs
pub fn hold_costs<'a, A: AppUnderTest>(
    document: &str,
    costs: impl IntoIterator<Item = MeasuredCost<'a>>,
) {
    let api = OpenApiDocument::of::<A>();
    let mut measured: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for cost in costs {
        let (_, operation) = api.operation_at(cost.method, &cost.path);
        let function = operation["operationId"].as_str().unwrap().to_owned();
        measured.entry(function).or_default().push(cost.value());
    }
    let path = Path::new(A::ROOT).join(document);
    let text = fs::read_to_string(&path).unwrap();
    let mut file: BTreeMap<String, Vec<Value>> = serde_json::from_str(&text).unwrap();
    let same = |(name, rows): (&String, &Vec<Value>)| {
        let known = file.get(name).map_or(&[][..], Vec::as_slice);
        rows.len() == known.len() && rows.iter().zip(known).all(|(one, other)| is_same(one, other))
    };
    let other: Vec<_> = measured.iter().filter(|rows| !same(*rows)).map(|(name, _)| name).collect();
    if other.is_empty() {
        return;
    }
    assert!(updates(), "{document} has other costs of {other:?}; {UPDATE}=1 writes them");
    file.extend(measured);
    let lines = file.iter().map(|(name, rows)| format!("  {}: {}", json!(name), json!(rows)));
    let text = lines.collect::<Vec<_>>().join(",\n");
    fs::write(path, format!("{{\n{text}\n}}\n")).unwrap();
}

impl MeasuredCost<'_> {
    fn value(&self) -> Value {
        let (path, rest) =
            self.what.trim_start_matches('`').split_once('`').unwrap_or((self.what, ""));
        let rest = rest.trim_start_matches(", ");
        let case = match path.split_once('?') {
            Some((_, query)) if rest.is_empty() => format!("`?{query}`"),
            Some((_, query)) => format!("`?{query}`, {rest}"),
            None => rest.to_owned(),
        };
        json!({
            "request": self.id,
            "case": case,
            "storeRequests": self.store_requests,
            "requestUnits": (self.request_units * 100.0).round() / 100.0,
        })
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    let units = |row: &Value| row["requestUnits"].as_f64().unwrap_or(f64::NAN);
    ["request", "case", "storeRequests"].iter().all(|name| one[name] == other[name])
        && (units(one) - units(other)).abs() < TOLERANCE
}
