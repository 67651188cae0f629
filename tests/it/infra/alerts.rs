//! The alerts: what they query exists, they cover every projection, and each has a word in the
//! documents.

use std::collections::BTreeSet;

use super::{bicep::Bicep, text};
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

/// `cargo xtask functions` writes the rows of the queries, one for each trigger.
#[test]
fn the_queries_find_the_leases_of_each_trigger() {
    let triggers = datatable("lease-age", "triggers");
    assert!(triggers.len() >= 4, "{triggers:?}");
    let prefixes = || triggers.iter().map(|row| row[2].as_str());
    for (one, other) in prefixes().flat_map(|one| prefixes().map(move |it| (one, it))) {
        assert!(one == other || !one.contains(other), "{one} also looks like {other}");
    }
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
    for function in World::http_functions() {
        let name = function.name;
        let is_expected = matches!(function.method.as_str(), "POST" | "PUT")
            && !WRITE_NOTHING_WATCHED.contains(&name);
        let is_there = writers.contains(name);
        assert!(!is_there || is_expected, "{name} is no writer of a watched container");
        assert!(
            is_there || !is_expected || openapi::status(&function) != 201,
            "infra/kql/change-feed-silent.kql lacks a row among the writers, with the container:\n    \
             \"{name}\", \"container\",\nIf no projection reads it, WRITE_NOTHING_WATCHED lacks {name}."
        );
    }
}

#[test]
fn the_alert_of_the_handlers_alarm_searches_for_its_words() {
    let query = text("infra/kql/host-rewrites-dates.kql");
    let words = query.split('"').nth(1).unwrap();
    assert!(text("crates/tributary-functions/src/projection/origin.rs").contains(words), "{words}");
}
