//! The OpenAPI document says of each function what the app takes.

use std::{collections::BTreeSet, process::Command};

use serde_json::{Value, json};
use tributary_functions::http::HttpFunction;

use crate::{api_page::documented, costs::tables, world::World};

const HANDLER: &str = env!("CARGO_BIN_EXE_tributary");

/// The document, as the command prints it.
fn document() -> Value {
    let output = Command::new(HANDLER).arg("openapi").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The operation of a function.
fn operation<'a>(document: &'a Value, function: &HttpFunction) -> &'a Value {
    &document["paths"][function.route][function.method.as_str().to_lowercase()]
}

/// The names of an operation's parameters in one place.
fn parameters(operation: &Value, place: &str) -> BTreeSet<String> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let here = all.filter(|parameter| parameter["in"] == place);
    here.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_function_has_its_operation_and_every_operation_its_function() {
    let (document, functions) = (document(), World::http_functions());
    for function in &functions {
        let operation = operation(&document, function);
        assert_eq!(operation["operationId"], function.name);
        let asks_for_key = operation["security"].as_array().is_some_and(|keys| !keys.is_empty());
        assert_eq!(asks_for_key, format!("{:?}", function.auth_level) == "Function");
        let of_path = parameters(&document["paths"][function.route], "path");
        let of_route = function.route.split('{').skip(1);
        let of_route = of_route.map(|rest| rest.split('}').next().unwrap().to_owned());
        assert_eq!(of_path, of_route.collect(), "{}", function.name);
    }
    let paths = document["paths"].as_object().unwrap().values();
    let methods = paths.flat_map(|path| path.as_object().unwrap().keys());
    assert_eq!(methods.filter(|name| *name != "parameters").count(), functions.len());
}

/// The names of all properties of a schema, those of its parts included.
fn properties(schema: &Value) -> BTreeSet<String> {
    let own = schema["properties"].as_object().into_iter().flatten();
    let own = own.flat_map(|(name, part)| properties(part).into_iter().chain([name.clone()]));
    own.chain(schema.get("items").into_iter().flat_map(properties)).collect()
}

#[test]
fn bodies_and_query_parameters_are_those_of_the_api_page() {
    let (document, page) = (document(), tables::document("docs/api.md"));
    for function in World::http_functions() {
        let (operation, name) = (operation(&document, &function), function.name);
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let headers = parameters(operation, "header");
        let documented = documented(&function).unwrap().fields.iter();
        let documented: BTreeSet<String> =
            documented.filter(|field| !headers.contains(*field)).cloned().collect();
        if let Some(own) = body["properties"].as_object() {
            let all = properties(body);
            assert!(own.keys().all(|field| documented.contains(field) || page.contains(field)));
            assert!(documented.is_subset(&all), "{name}: {documented:?}, and it takes {all:?}");
            assert!(!own.is_empty(), "{name}");
        }
        for parameter in parameters(operation, "query") {
            assert!(
                page.contains(&format!("{parameter}=")),
                "docs/api.md lacks {parameter} of {name}"
            );
        }
    }
}

#[tokio::test]
async fn a_body_that_lacks_a_field_is_refused_with_its_name() {
    let (document, world) = (document(), World::new().await);
    let mut bodies = 0;
    for function in World::http_functions() {
        let operation = operation(&document, &function);
        let Some(body) = operation.get("requestBody") else { continue };
        let schema = &body["content"]["application/json"]["schema"];
        let required = schema["required"].as_array().unwrap().iter();
        let required: BTreeSet<&str> = required.map(|field| field.as_str().unwrap()).collect();
        let path = function.route.replace(['{', '}'], "");
        let method = function.method.as_str();
        let answer = world.call(method, &path, &[], Some(json!({}))).await.expect(400);
        let problem = answer.json();
        let errors = problem["errors"].as_array().unwrap().iter();
        let named: BTreeSet<&str> = errors.map(|one| one["field"].as_str().unwrap()).collect();
        assert_eq!(named, required, "{}", function.name);
        bodies += 1;
    }
    assert!(bodies > 0);
}
