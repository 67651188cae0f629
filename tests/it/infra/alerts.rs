//! The alerts: what they query exists, they cover every projection, and each has a word in the
//! documents.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;

use super::{bicep::Bicep, root, text};
use crate::{common::openapi, world::World};

/// The functions that create items in a container that no trigger reads.
const WRITE_NOTHING_WATCHED: &[&str] = &["PostNewsItem"];

const METRIC_ALERTS: &str = "infra/modules/metric-alerts.bicep";
const LOG_ALERTS: &str = "infra/modules/log-alerts.bicep";

fn keys() -> Vec<String> {
    [METRIC_ALERTS, LOG_ALERTS].into_iter().flat_map(keys_in).collect()
}

fn keys_in(file: &str) -> Vec<String> {
    let bicep = Bicep::read(file);
    let is_key = |node: &tree_sitter::Node<'_>| {
        node.kind() == "object_property" && bicep.text_of(*node).starts_with("key: '")
    };
    let properties = bicep.nodes().into_iter().filter(is_key);
    properties.map(|node| bicep.string(node.named_child(1).unwrap())).collect()
}

/// The bindings of each function whose trigger is of this type.
fn functions(trigger: &str) -> BTreeMap<String, Value> {
    let folders = fs::read_dir(root().join("functions")).unwrap().map(Result::unwrap);
    let named = folders.filter_map(|folder| {
        let name = folder.file_name().into_string().unwrap();
        let function: Value =
            serde_json::from_str(&text(&format!("functions/{name}/function.json"))).unwrap();
        let bindings = function["bindings"].as_array().unwrap();
        let binding = bindings.iter().find(|binding| binding["type"] == trigger)?;
        Some((name, binding.clone()))
    });
    named.collect()
}

fn datatable(query: &str, name: &str) -> BTreeSet<Vec<String>> {
    let query = text(&format!("infra/kql/{query}.kql"));
    let table = query.split_once(&format!("let {name} = datatable(")).unwrap().1;
    let rows = table.split_once('[').unwrap().1.split_once(']').unwrap().0;
    let rows = rows.lines().map(|row| row.split('"').skip(1).step_by(2).map(str::to_owned));
    rows.map(Iterator::collect).filter(|row: &Vec<_>| !row.is_empty()).collect()
}

#[test]
fn every_alert_is_in_the_documents_and_has_a_runbook() {
    let keys = keys();
    assert!(keys.len() >= 20, "{keys:?}");
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "two alerts share a key");
    let document = text("docs/infrastructure.md");
    let runbooks = text("docs/operations.md");
    for key in keys {
        let row = format!("| [`{key}`](operations.md#{key}) |");
        assert!(document.contains(&row), "docs/infrastructure.md has no row {row}");
        assert!(runbooks.lines().any(|line| line == format!("### {key}")), "no runbook for {key}");
    }
}

#[test]
fn every_stopped_projection_raises_an_alert() {
    let triggers = functions("cosmosDBTrigger");
    assert!(triggers.len() >= 4, "{triggers:?}");
    let row = |name: &String, fields: &[&Value]| -> Vec<String> {
        let fields = fields.iter().map(|field| field.as_str().unwrap().to_owned());
        [name.clone()].into_iter().chain(fields).collect()
    };
    let watched: BTreeSet<_> =
        triggers.iter().map(|(name, one)| row(name, &[&one["containerName"]])).collect();
    rows_are("change-feed-silent", "projections", &watched);
    let leased: BTreeSet<_> = triggers
        .iter()
        .map(|(name, one)| row(name, &[&one["containerName"], &one["leaseContainerPrefix"]]))
        .collect();
    rows_are("lease-age", "triggers", &leased);
    for (one, other) in leased.iter().flat_map(|one| leased.iter().map(move |other| (one, other))) {
        assert!(one == other || !one[2].contains(&other[2]), "{one:?} also looks like {other:?}");
    }
    for one in triggers.values() {
        assert_eq!(one["leaseContainerName"], "leases", "the queries look there");
    }
}

/// Sees that a table of a query has these rows, and names those that it lacks or has too many; `cargo
/// xtask functions` writes them.
fn rows_are(query: &str, table: &str, expected: &BTreeSet<Vec<String>>) {
    let is = datatable(query, table);
    let text = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().map(|cell| format!("\"{cell}\",")).collect();
        format!("    {}", cells.join(" "))
    };
    let lacks: Vec<String> = expected.difference(&is).map(text).collect();
    let extra: Vec<String> = is.difference(expected).map(text).collect();
    assert!(
        lacks.is_empty() && extra.is_empty(),
        "infra/kql/{query}.kql, table {table}: run `cargo xtask functions`. It adds:\n{}\nand removes:\n{}",
        lacks.join("\n"),
        extra.join("\n")
    );
}

#[test]
fn every_command_that_can_create_counts_as_a_write() {
    let watched: BTreeSet<String> = datatable("change-feed-silent", "projections")
        .into_iter()
        .map(|mut row| row.remove(1))
        .collect();
    let writers = datatable("change-feed-silent", "writers");
    for row in &writers {
        assert!(watched.contains(&row[1]), "no projection reads {row:?}");
    }
    let writers: BTreeSet<&str> = writers.iter().map(|row| row[0].as_str()).collect();
    for (name, trigger) in functions("httpTrigger") {
        let methods = trigger["methods"].as_array().cloned().unwrap_or_default();
        let creates = methods.iter().any(|method| method == "post" || method == "put");
        let alone = methods.len() == 1;
        let is_expected = creates && alone && !WRITE_NOTHING_WATCHED.contains(&name.as_str());
        let is_there = writers.contains(name.as_str());
        assert!(!is_there || is_expected, "{name} is no writer of a watched container");
        assert!(
            is_there || !is_expected || !may_create(&name),
            "infra/kql/change-feed-silent.kql lacks a row among the writers, with the container:\n    \
             \"{name}\", \"container\",\nIf no projection reads it, WRITE_NOTHING_WATCHED lacks {name}."
        );
    }
}

/// Returns true if the first good answer of a function is a 201, as `docs/api.md` has it.
fn may_create(name: &str) -> bool {
    let function = World::http_functions().into_iter().find(|function| function.name == name);
    function.is_none_or(|function| openapi::status(&function) == 201)
}

#[test]
fn the_alert_of_the_handlers_alarm_searches_for_its_words() {
    let query = text("infra/kql/host-rewrites-dates.kql");
    let words = query.split('"').nth(1).unwrap();
    assert!(text("crates/tributary-functions/src/projection/origin.rs").contains(words), "{words}");
}
