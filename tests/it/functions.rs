//! `functions/` agrees with the tables of the app, and with the needs of the Functions host.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use axum::http::Method;
use serde_json::Value;
use tributary_functions::app::{Trigger, UNMATCHED_FUNCTION};
use tributary_local::host::{FunctionApp, Settings};

use crate::{handler::HANDLER, world::World};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All `function.json` files, by the function's name.
fn folders() -> BTreeMap<String, Value> {
    let entries = fs::read_dir(root().join("functions")).unwrap().map(Result::unwrap);
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

fn command(folder: &Path, check: bool) -> Result<(), String> {
    let mut command = Command::new(HANDLER);
    command.arg("functions").arg("--folder").arg(folder).args(check.then_some("--check"));
    let output = command.output().unwrap();
    let reported = String::from_utf8(output.stderr).unwrap();
    if output.status.success() { Ok(()) } else { Err(reported) }
}

#[test]
fn the_command_writes_the_folder_and_names_each_file_that_differs() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("functions-written");
    let _ = fs::remove_dir_all(&folder);
    command(&folder, false).unwrap();
    command(&folder, true).unwrap();
    command(&root().join("functions"), true).unwrap();

    fs::write(folder.join(UNMATCHED_FUNCTION).join("function.json"), "{}").unwrap();
    fs::create_dir(folder.join("Old")).unwrap();
    fs::write(folder.join("Old/function.json"), "{}").unwrap();
    let reported = command(&folder, true).unwrap_err();
    let lines: Vec<&str> = reported.lines().collect();
    assert!(lines[0].contains("ZUnmatchedRoute/function.json"), "{reported}");
    assert!(lines[1].contains("Old "), "{reported}");
    assert_eq!(lines.len(), 2, "{reported}");
    command(&folder, false).unwrap();
    command(&folder, true).unwrap();
    assert!(!folder.join("Old").exists());

    fs::create_dir(folder.join("Own")).unwrap();
    fs::write(folder.join("Own/notes.txt"), "").unwrap();
    command(&folder, false).unwrap();
    assert!(folder.join("Own/notes.txt").exists(), "a folder without function.json is no function");
    fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn the_declared_methods_are_the_ones_that_the_router_takes() {
    let world = World::new().await;
    for function in World::http_functions() {
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
async fn every_trigger_that_is_declared_is_served() {
    let declared = tributary::program().describe().unwrap().declarations().into_iter();
    let declared = declared.filter(|function| !matches!(function.trigger, Trigger::Http { .. }));
    let declared: BTreeSet<String> = declared.map(|function| function.name.to_owned()).collect();
    let served = World::new().await.triggers().await;
    assert_eq!(served.into_iter().collect::<BTreeSet<_>>(), declared);
}

#[test]
fn the_host_knows_every_name_in_a_function_json() {
    let root = root();
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
fn the_function_for_unmatched_routes_sorts_last_and_serves_nothing() {
    let folders = folders();
    assert_eq!(trigger(&folders[UNMATCHED_FUNCTION])["authLevel"], "function");
    let last = folders.keys().max_by_key(|name| name.to_lowercase()).unwrap();
    assert_eq!(last, UNMATCHED_FUNCTION);
}

/// Without these two settings a text of a user can stop the change feed.
#[test]
fn host_json_turns_off_the_parsing_of_dates_with_a_bundle_that_can() {
    let host = fs::read_to_string(root().join("host.json")).unwrap();
    let host: Value = serde_json::from_str(&host).unwrap();
    let cosmos = &host["extensions"]["cosmosDB"];
    assert_eq!(cosmos["serializerSettings"]["dateParseHandling"], "None");
    // Bundle 4.21.0 has version 4.8.1 of the extension, which ignores it.
    assert_eq!(host["extensionBundle"]["version"], "[4.29.0, 5.0.0)");
}
