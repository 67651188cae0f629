//! The parameters of `main.bicep`: documented, and known to azd's file.

use std::fmt::Write;

use serde_json::Value;

use super::{
    bicep::{Bicep, below, children},
    text,
};

struct Parameter {
    name: String,
    default: String,
    limits: String,
    description: String,
}

/// The parameters in their order, each with the decorators in front of it.
fn parameters() -> Vec<Parameter> {
    let bicep = Bicep::read("infra/main.bicep");
    let declarations = bicep.declarations("parameter_declaration");
    let read = |node: &tree_sitter::Node<'_>| {
        let name = bicep.name(*node).to_owned();
        let decorators = node.prev_named_sibling().filter(|node| node.kind() == "decorators");
        let decorators = decorators.unwrap_or_else(|| panic!("{name} has no @description"));
        let argument = |decorator: &str| {
            let call = below(decorators).into_iter().find(|node| {
                node.kind() == "call_expression"
                    && bicep.text_of(node.named_child(0).unwrap()) == decorator
            })?;
            call.named_child(1)?.named_child(0)
        };
        // The name, the type and, where there is one, the default.
        let default = children(*node).get(2).map(|default| bicep.text_of(*default).to_owned());
        let description = argument("description");
        Parameter {
            default: default.map_or("required".to_owned(), |text| format!("`{text}`")),
            limits: [("allowed", "One of"), ("minValue", "At least"), ("maxValue", "At most")]
                .iter()
                .filter_map(|(decorator, word)| Some((word, argument(decorator)?)))
                .map(|(word, limit)| format!(" {word} `{}`.", bicep.text_of(limit)))
                .collect::<Vec<_>>()
                .concat(),
            description: bicep
                .string(description.unwrap_or_else(|| panic!("{name} has no @description"))),
            name,
        }
    };
    declarations.iter().map(read).collect()
}

#[test]
fn the_table_of_parameters_is_that_of_main_bicep() {
    let mut table = String::from("| parameter | default | what it does |\n| --- | --- | --- |\n");
    for Parameter { name, default, limits, description } in parameters() {
        writeln!(table, "| `{name}` | {default} | {description}{limits} |").unwrap();
    }
    let document = text("docs/infrastructure.md");
    assert!(document.contains(&table), "docs/infrastructure.md should have this table:\n{table}");
}

#[test]
fn azds_file_sets_only_parameters_that_exist_and_all_that_are_required() {
    let file: Value = serde_json::from_str(&text("infra/main.parameters.json")).unwrap();
    let set = file["parameters"].as_object().unwrap();
    let parameters = parameters();
    for name in set.keys() {
        assert!(
            parameters.iter().any(|declared| declared.name == *name),
            "main.bicep has no {name}"
        );
    }
    for parameter in parameters.iter().filter(|declared| declared.default == "required") {
        assert!(set.contains_key(&parameter.name), "azd would ask for {}", parameter.name);
    }
}
