//! The alerts: what they query exists, and each has a word in the documents.

use std::{collections::BTreeSet, fs};

use super::{bicep::Bicep, root, text};

/// The keys of all rules.
fn keys() -> Vec<String> {
    let mut keys = Vec::new();
    for file in ["infra/modules/metric-alerts.bicep", "infra/modules/log-alerts.bicep"] {
        let bicep = Bicep::read(file);
        let is_key = |node: &tree_sitter::Node<'_>| {
            node.kind() == "object_property" && bicep.text_of(*node).starts_with("key: '")
        };
        let properties = bicep.nodes().into_iter().filter(is_key);
        keys.extend(properties.map(|node| bicep.string(node.named_child(1).unwrap())));
    }
    keys
}

#[test]
fn every_alert_is_in_the_documents() {
    let keys = keys();
    assert!(keys.len() >= 20, "{keys:?}");
    assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "two alerts share a key");
    let document = text("docs/infrastructure.md");
    for key in keys {
        let row = format!("| [`{key}`](operations.md#{key}) |");
        assert!(document.contains(&row), "docs/infrastructure.md has no row {row}");
    }
}

#[test]
fn every_alert_has_a_runbook() {
    let runbooks = text("docs/operations.md");
    for key in keys() {
        assert!(runbooks.lines().any(|line| line == format!("### {key}")), "no runbook for {key}");
    }
}

#[test]
fn every_query_belongs_to_an_alert() {
    let alerts = text("infra/modules/log-alerts.bicep");
    for entry in fs::read_dir(root().join("infra/kql")).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        assert!(alerts.contains(&format!("loadTextContent('../kql/{name}')")), "{name}");
    }
}
