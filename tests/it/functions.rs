//! `functions/` and the app are the same set.

use std::{collections::BTreeMap, fs, path::PathBuf};

use axum::http::Method;
use serde_json::Value;
use tributary::{
    app::{App, UNMATCHED},
    http::{AuthLevel, HttpFunction},
    projection::AnyProjection,
};
use tributary_local::host::{FunctionApp, Settings};

use crate::{
    complete::{nothing_is_missing, snake},
    world::{self, World, http_functions},
};

/// All `function.json` files, by the function's name.
fn folders() -> BTreeMap<String, Value> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("functions");
    let entries = fs::read_dir(root).unwrap().map(Result::unwrap);
    entries
        .map(|folder| {
            let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(Result::unwrap).collect();
            assert_eq!(files.len(), 1, "another file in {folder:?} would be taken for a script");
            let text = fs::read_to_string(folder.path().join("function.json")).unwrap();
            let name = folder.file_name().into_string().unwrap();
            (name, serde_json::from_str(&text).unwrap())
        })
        .collect()
}

fn trigger(function: &Value) -> &Value {
    &function["bindings"][0]
}

/// The `function.json` of a route.
fn of_route(HttpFunction { method, route, auth_level, .. }: &HttpFunction) -> String {
    let method = method.as_str().to_lowercase();
    let route = route.trim_start_matches('/');
    let auth_level = match auth_level {
        AuthLevel::Anonymous => "anonymous",
        AuthLevel::Function => "function",
    };
    format!(
        r#"{{
  "bindings": [
    {{
      "type": "httpTrigger",
      "direction": "in",
      "name": "req",
      "methods": [
        "{method}"
      ],
      "route": "{route}",
      "authLevel": "{auth_level}"
    }},
    {{
      "type": "http",
      "direction": "out",
      "name": "res"
    }}
  ]
}}
"#
    )
}

/// The `function.json` of a projection.
fn of_projection(projection: &dyn AnyProjection) -> String {
    let container = projection.container_id();
    let prefix = snake(projection.function()).replace('_', "-");
    format!(
        r#"{{
  "bindings": [
    {{
      "type": "cosmosDBTrigger",
      "direction": "in",
      "name": "documents",
      "connection": "CosmosConnection",
      "databaseName": "%CosmosDatabase%",
      "containerName": "{container}",
      "leaseContainerName": "leases",
      "leaseContainerPrefix": "{prefix}-",
      "createLeaseContainerIfNotExists": false,
      "startFromBeginning": true,
      "maxItemsPerInvocation": 100,
      "feedPollDelay": 1000
    }}
  ],
  "retry": {{
    "strategy": "exponentialBackoff",
    "maxRetryCount": -1,
    "minimumInterval": "00:00:02",
    "maximumInterval": "00:01:00"
  }}
}}
"#
    )
}

#[test]
fn every_route_has_its_folder_and_every_folder_its_route() {
    let folders = folders();
    let functions = http_functions();
    let mut missing = Vec::new();
    for function in &functions {
        let (name, text) = (function.name, of_route(function));
        let expected: Value = serde_json::from_str(&text).unwrap();
        match folders.get(name) {
            None => missing.push(format!("functions/{name}/function.json is missing:\n{text}")),
            Some(is) if *is != expected => {
                missing.push(format!(
                    "functions/{name}/function.json differs from its route. The route says:\n{text}"
                ));
            }
            Some(_) => {}
        }
    }
    for (name, folder) in &folders {
        let trigger = trigger(folder);
        let is_http = trigger["type"] == "httpTrigger" && name != UNMATCHED;
        if is_http && !functions.iter().any(|function| function.name == name) {
            let (method, route) = (&trigger["methods"][0], &trigger["route"]);
            let (method, route) = (method.as_str().unwrap(), route.as_str().unwrap());
            let handler = snake(name);
            missing.push(format!(
                "functions/{name} has no route. Delete the folder, or add to http_functions() in the \
                 mod.rs of the domain:\n{method}(\"{name}\", \"/{route}\", Function, {handler}),"
            ));
        }
    }
    nothing_is_missing(&missing);
}

#[test]
fn queries_are_open_and_everything_else_asks_for_a_key() {
    // For operators; addresses and orders; a report of both.
    let private = ["/api/dead-letters", "/api/customers", "/api/reports"];
    for function in http_functions() {
        let is_private = private.iter().any(|route| function.route.starts_with(route));
        let expected = match function.method {
            Method::GET if !is_private => AuthLevel::Anonymous,
            _ => AuthLevel::Function,
        };
        assert_eq!(function.auth_level, expected, "{}", function.name);
    }
}

#[tokio::test]
async fn the_declared_methods_are_the_ones_that_the_router_takes() {
    let world = World::new().await;
    for function in http_functions() {
        let path = function.route.replace(['{', '}'], "");
        let answer = world.call("TRACE", &path, &[], None).await.expect(405);
        let allowed = answer.header("allow");
        assert!(allowed.split(',').any(|m| m == function.method.as_str()), "{path}: {allowed}");
        if function.method != Method::GET {
            let answer = world.call(function.method.as_str(), &path, &[], None).await;
            assert_ne!(answer.status, 405, "{path}");
        }
    }
}

#[tokio::test]
async fn every_trigger_has_its_folder_and_every_folder_its_trigger() {
    let folders = folders();
    let world = World::new().await;
    let served = world.triggers().await;
    let App { domains, .. } = world::app(&World::cosmos(&world.endpoint).await, World::options());
    let mut missing = Vec::new();
    for projection in domains.iter().flat_map(|domain| &domain.projections) {
        let (name, container) = (projection.function(), projection.container_id());
        match folders.get(name) {
            None => missing.push(format!(
                "functions/{name}/function.json is missing:\n{}",
                of_projection(&**projection)
            )),
            Some(is) if trigger(is)["containerName"] != container => missing.push(format!(
                "functions/{name}/function.json: the projection reads the container {container}:\n\
                 \"containerName\": \"{container}\","
            )),
            Some(_) => {}
        }
    }
    for name in served.iter().filter(|name| !folders.contains_key(*name)) {
        if !domains.iter().flat_map(|domain| &domain.projections).any(|one| one.function() == name)
        {
            missing.push(format!(
                "functions/{name}/function.json is missing. Copy that of another timer, such as \
                 functions/AuditBlog/function.json."
            ));
        }
    }
    for (name, folder) in &folders {
        if trigger(folder)["type"] != "httpTrigger" && !served.contains(name) {
            missing.push(format!(
                "functions/{name} has no trigger in the app. Delete the folder, or add to domain() in \
                 the mod.rs of the domain, among its projections:\nArc::new({name}(…)),"
            ));
        }
    }
    nothing_is_missing(&missing);
}

#[test]
fn the_host_knows_every_name_in_a_function_json() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let settings = Settings::read(&root.join("local.settings.json.example")).unwrap();
    let app = FunctionApp::load(&root, &settings).unwrap();
    assert_eq!(
        app.warnings(),
        Vec::<String>::new(),
        "the host ignores in silence what it does not know"
    );
}

#[test]
fn no_two_triggers_share_a_lease_and_none_can_lose_a_change() {
    let mut prefixes = Vec::new();
    for (name, function) in folders() {
        let trigger = trigger(&function);
        if trigger["type"] != "cosmosDBTrigger" {
            continue;
        }
        assert_eq!(function["retry"]["maxRetryCount"], -1, "{name} would lose a failed batch");
        assert_eq!(trigger["startFromBeginning"], true, "{name} would miss older changes");
        assert_eq!(trigger["createLeaseContainerIfNotExists"], false, "{name}");
        prefixes.push(trigger["leaseContainerPrefix"].as_str().unwrap().to_owned());
    }
    assert!(prefixes.len() >= 3);
    prefixes.sort();
    let all = prefixes.len();
    prefixes.dedup();
    assert_eq!(prefixes.len(), all, "functions with one prefix steal each other's changes");
}

#[test]
fn the_function_for_unmatched_routes_sorts_last_and_opens_nothing() {
    let folders = folders();
    assert_eq!(trigger(&folders[UNMATCHED])["authLevel"], "function");
    let last = folders.keys().max_by_key(|name| name.to_lowercase()).unwrap();
    assert_eq!(last, UNMATCHED);
}

/// Without these two a text of a user can stop the change feed.
#[test]
fn host_json_keeps_dates_from_being_parsed_with_a_bundle_that_knows_how() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let host = fs::read_to_string(root.join("host.json")).unwrap();
    let host: Value = serde_json::from_str(&host).unwrap();
    let cosmos = &host["extensions"]["cosmosDB"];
    assert_eq!(cosmos["serializerSettings"]["dateParseHandling"], "None");
    // Bundle 4.21.0 has version 4.8.1 of the extension, which ignores it.
    assert_eq!(host["extensionBundle"]["version"], "[4.29.0, 5.0.0)");
}
