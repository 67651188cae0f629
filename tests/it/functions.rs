//! `functions/` and the app are the same set.

use std::{collections::BTreeMap, fs, path::PathBuf};

use axum::http::Method;
use serde_json::Value;
use tributary::{app::UNMATCHED, http::AuthLevel};
use tributary_local::host::{FunctionApp, Settings};

use crate::world::{World, http_functions};

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

#[test]
fn every_route_has_its_folder_and_every_folder_its_route() {
    let declared: BTreeMap<String, (Vec<Value>, String, String)> = folders()
        .iter()
        .filter(|(name, function)| {
            trigger(function)["type"] == "httpTrigger" && name.as_str() != UNMATCHED
        })
        .map(|(name, function)| {
            let trigger = trigger(function);
            let text = |field: &str| trigger[field].as_str().unwrap().to_owned();
            let methods = trigger["methods"].as_array().unwrap().clone();
            (name.clone(), (methods, format!("/{}", text("route")), text("authLevel")))
        })
        .collect();
    let served = http_functions()
        .into_iter()
        .map(|function| {
            let method = function.method.as_str().to_lowercase();
            let auth_level = match function.auth_level {
                AuthLevel::Anonymous => "anonymous",
                AuthLevel::Function => "function",
            };
            let route = function.route.to_owned();
            (function.name.to_owned(), (vec![method.into()], route, auth_level.to_owned()))
        })
        .collect();
    assert_eq!(declared, served);
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
    let declared: Vec<String> = folders()
        .into_iter()
        .filter(|(_, function)| trigger(function)["type"] != "httpTrigger")
        .map(|(name, _)| name)
        .collect();
    let mut served = World::new().await.triggers().await;
    served.sort();
    assert_eq!(declared, served);
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
