//! Shapes: the properties of items with their JSON types.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Samples;

/// The properties that tell the type of an item. An item without them is of the container's only type.
const KIND: [&str; 2] = ["type", "state"];

/// A property of an item, with its JSON type: `tags[].id: string`.
type Property = String;

#[derive(Default)]
struct Shape {
    in_any: BTreeSet<Property>,
    in_all: BTreeSet<Property>,
}

fn shapes(samples: &Samples) -> BTreeMap<(&str, String), Shape> {
    let mut shapes = BTreeMap::<_, Shape>::new();
    for (container, items) in samples {
        for item in items {
            let of_item = properties(item);
            let shape = shapes.entry((container.as_str(), kind(item))).or_default();
            if shape.in_any.is_empty() {
                shape.in_all.clone_from(&of_item);
            }
            shape.in_all.retain(|property| of_item.contains(property));
            shape.in_any.extend(of_item);
        }
    }
    shapes
}

/// Returns a sentence for each difference between the samples and the stored items.
pub(super) fn differences(samples: &Samples, stored: &Samples) -> Vec<String> {
    let samples = shapes(samples);
    let stored = shapes(stored);
    let mut faults = Vec::new();
    let types: BTreeSet<_> = samples.keys().chain(stored.keys()).collect();
    for of_type in types {
        let (container, kind) = of_type;
        let mut fault = |words: &str| faults.push(format!("`{kind}` in {container}: {words}"));
        let Some(sample) = samples.get(of_type) else {
            fault("there is no sample.");
            continue;
        };
        let Some(now) = stored.get(of_type) else {
            fault("the story stores none.");
            continue;
        };
        for property in now.in_any.difference(&sample.in_any) {
            fault(&format!("an item has `{property}`, and no sample has it."));
        }
        let missing = sample.in_all.difference(&now.in_all);
        for property in missing.filter(|property| now.in_any.contains(*property)) {
            fault(&format!("an item lacks `{property}`, and each sample has it."));
        }
        for property in sample.in_any.difference(&now.in_any) {
            fault(&format!("a sample has `{property}`, and no item has it."));
        }
    }
    faults
}

/// Returns the type of an item: `post`, or `category live`.
pub(super) fn kind(item: &Value) -> String {
    KIND.iter().filter_map(|name| item[*name].as_str()).collect::<Vec<_>>().join(" ")
}

fn properties(item: &Value) -> BTreeSet<Property> {
    let mut found = BTreeSet::new();
    add(&mut found, "", item);
    found
}

fn add(found: &mut BTreeSet<Property>, path: &str, value: &Value) {
    let json_type = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(elements) => {
            for element in elements {
                add(found, &format!("{path}[]"), element);
            }
            "array"
        }
        Value::Object(members) => {
            let dot = if path.is_empty() { "" } else { "." };
            for (name, value) in members {
                add(found, &format!("{path}{dot}{name}"), value);
            }
            "object"
        }
    };
    if !path.is_empty() {
        found.insert(format!("{path}: {json_type}"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_change_of_a_shape_is_a_sentence() {
        let samples = |items: &[&Value]| -> Samples {
            [("rooms".to_owned(), items.iter().map(|item| (*item).clone()).collect())].into()
        };
        let room = json!({"type": "room", "id": "r", "size": 4, "seats": [{"row": 1}]});
        let named = json!({"type": "room", "id": "r", "size": 4, "seats": [], "name": "Blue"});
        let other = json!({"type": "room", "id": "r", "size": "4", "seats": [{"left": true}]});
        let hall = json!({"type": "hall", "id": "h"});
        let both = samples(&[&room, &named]);
        for (items, expected) in [
            // The order and the values do not matter.
            (&[&named, &room, &room][..], &[][..]),
            (
                &[&room, &named, &other],
                &[
                    "`room` in rooms: an item has `seats[].left: boolean`, and no sample has it.",
                    "`room` in rooms: an item has `size: string`, and no sample has it.",
                    "`room` in rooms: an item lacks `size: number`, and each sample has it.",
                ],
            ),
            (&[&room, &named, &hall], &["`hall` in rooms: there is no sample."]),
            (&[&room], &["`room` in rooms: a sample has `name: string`, and no item has it."]),
            (&[], &["`room` in rooms: the story stores none."]),
        ] {
            assert_eq!(differences(&both, &samples(items)), expected);
        }
    }
}
