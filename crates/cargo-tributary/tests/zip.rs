//! The files of the zip.

#![expect(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_tributary::package::{AppLayout, ZipCompression, function_folders, pack, stage, unpack};

/// Creates a project with two functions and a file without the mode of an executable.
fn project(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&root);
    for folder in ["functions/ReadRiver", "functions/WriteRiver", "src"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    let host = r#"{"customHandler": {"description": {"defaultExecutablePath": "river"}}}"#;
    for (file, text) in [
        ("host.json", host),
        (".funcignore", "src/\n"),
        ("functions/ReadRiver/function.json", "{}"),
        ("functions/ReadRiver/notes.md", "The host would take this for the function's script."),
        ("functions/WriteRiver/function.json", "{}"),
        ("src/main.rs", "fn main() {}"),
        ("built", "an executable"),
    ] {
        fs::write(root.join(file), text).unwrap();
    }
    root
}

/// The files of a package, in their order.
const PACKED: [&str; 4] =
    ["ReadRiver/function.json", "WriteRiver/function.json", "host.json", "river"];

fn packed(root: &Path) -> PathBuf {
    let layout = AppLayout::read(root).unwrap();
    stage(&layout, &root.join("built"), &root.join("staged")).unwrap();
    let zip = root.join("functionapp.zip");
    pack(&root.join("staged"), &layout.executable, &zip, ZipCompression::Deflate).unwrap();
    zip
}

/// Returns the texts of all files below a folder, by path.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            let inner = files(&path).into_iter();
            found.extend(inner.map(|(inner, text)| (format!("{name}/{inner}"), text)));
        } else {
            found.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    found
}

#[test]
fn a_zip_has_the_files_for_the_host_and_nothing_else_of_a_laptop() {
    let root = project("contents");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::copy(repository.join(".funcignore"), root.join(".funcignore")).unwrap();
    let layout = AppLayout::read(&root).unwrap();
    let [staged, zip] = ["staged", "functionapp.zip"].map(|name| root.join(name));
    stage(&layout, &root.join("built"), &staged).unwrap();
    for file in ["local.settings.json", ".env", ".env.local", "functionapp.zip", "notes.md"] {
        fs::write(staged.join(file), "of a laptop").unwrap();
    }
    pack(&staged, &layout.executable, &zip, ZipCompression::Deflate).unwrap();
    unpack(&zip, &root.join("unpacked")).unwrap();
    let unpacked = files(&root.join("unpacked"));
    assert_eq!(unpacked.keys().collect::<Vec<_>>(), PACKED);
    assert_eq!(unpacked["river"], "an executable");
    let functions = function_folders(&root.join("unpacked")).unwrap();
    assert_eq!(functions.keys().collect::<Vec<_>>(), ["ReadRiver", "WriteRiver"]);
}

#[cfg(unix)]
#[test]
fn only_the_executable_can_be_executed_with_any_modes_before() {
    use std::os::unix::fs::PermissionsExt as _;

    let root = project("modes");
    let mode = |file: &str| fs::metadata(root.join(file)).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(root.join("built"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(root.join("host.json"), fs::Permissions::from_mode(0o777)).unwrap();
    unpack(&packed(&root), &root.join("unpacked")).unwrap();
    assert_eq!(mode("unpacked/river"), 0o755);
    assert_eq!(mode("unpacked/host.json"), 0o644);
    assert_eq!(mode("unpacked/ReadRiver/function.json"), 0o644);
}

#[test]
fn the_same_files_give_the_same_zip_at_another_time_in_another_place() {
    let zips = ["one", "other"].map(|place| {
        let root = project(place);
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let host = fs::File::options().write(true).open(root.join("host.json")).unwrap();
        host.set_modified(if place == "one" { old } else { std::time::SystemTime::now() }).unwrap();
        drop(host);
        fs::read(packed(&root)).unwrap()
    });
    assert!(zips[0] == zips[1]);
    // Some file systems list their files in the order in which they were made, some in no order.
    let places = PACKED.map(|name| {
        zips[0].windows(name.len()).position(|bytes| bytes == name.as_bytes()).unwrap()
    });
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn an_app_without_an_executable_is_refused_with_a_remedy() {
    let root = project("nameless");
    fs::write(root.join("host.json"), r#"{"customHandler": {}}"#).unwrap();
    let error = format!("{:#}", AppLayout::read(&root).unwrap_err());
    assert!(error.contains("host.json must name customHandler.description"), "{error}");
}
