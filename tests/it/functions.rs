//! `functions/` agrees with the tables of the app, and with the needs of the Functions host.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;
use tributary_functions::app::{Trigger, UNMATCHED_FUNCTION};

use crate::{handler::HANDLER, world::World};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
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
async fn every_trigger_that_is_declared_is_served() {
    let declared = tributary::program().describe().unwrap().declarations().into_iter();
    let declared = declared.filter(|function| !matches!(function.trigger, Trigger::Http { .. }));
    let declared: BTreeSet<String> = declared.map(|function| function.name.to_owned()).collect();
    let served = World::new().await.triggers().await;
    assert_eq!(served.into_iter().collect::<BTreeSet<_>>(), declared);
}

#[test]
fn the_function_for_unmatched_routes_sorts_last_and_asks_for_a_key() {
    let declared = tributary::program().describe().unwrap().declarations();
    let last = declared.iter().max_by_key(|function| function.name.to_lowercase()).unwrap();
    assert_eq!(last.name, UNMATCHED_FUNCTION);
    let Trigger::Http { auth_level, route, .. } = last.trigger else { panic!("no route") };
    assert!(auth_level.needs_key() && route == "/api/{*path}", "{auth_level:?} {route}");
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
