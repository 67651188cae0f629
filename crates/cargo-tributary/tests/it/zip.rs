//! The files of the zip.

use std::{fs, path::PathBuf};

use cargo_tributary::package::{AppLayout, ZipCompression, pack, stage, unpack};

use crate::Folder;

/// Creates a project with two functions and a file without the mode of an executable.
fn project(name: &str) -> Folder {
    let root = Folder::new(name);
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
        root.write(file, text);
    }
    root
}

/// The files of a package, in their order.
const PACKED: [&str; 4] =
    ["ReadRiver/function.json", "WriteRiver/function.json", "host.json", "river"];

/// Stages and packs a project, with more files in the stage.
fn packed(root: &Folder, more: &[&str]) -> PathBuf {
    let layout = AppLayout::read(&root.0).unwrap();
    let [built, staged, zip] = ["built", "staged", "functionapp.zip"].map(|name| root.0.join(name));
    stage(&layout, &built, &staged).unwrap();
    for file in more {
        root.write(&format!("staged/{file}"), "of a laptop");
    }
    pack(&staged, &layout.executable, &zip, ZipCompression::Deflate).unwrap();
    zip
}

#[test]
fn a_zip_has_the_files_for_the_host_alone_and_only_the_executable_can_be_executed() {
    let root = project("contents");
    root.write(".funcignore", include_str!("../../../../.funcignore"));
    #[cfg(unix)]
    for (file, mode) in [("built", 0o600), ("host.json", 0o777)] {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(root.0.join(file), fs::Permissions::from_mode(mode)).unwrap();
    }
    let of_laptop = ["local.settings.json", ".env", ".env.local", "functionapp.zip", "notes.md"];
    let unpacked = root.0.join("unpacked");
    unpack(&packed(&root, &of_laptop), &unpacked).unwrap();
    let files = root.files("unpacked");
    assert_eq!(files.keys().collect::<Vec<_>>(), PACKED);
    assert_eq!(files["river"], "an executable");
    #[cfg(unix)]
    for (file, mode) in [("river", 0o755), ("host.json", 0o644), (PACKED[0], 0o644)] {
        use std::os::unix::fs::PermissionsExt as _;
        let permissions = fs::metadata(unpacked.join(file)).unwrap().permissions();
        assert_eq!(permissions.mode() & 0o777, mode, "{file}");
    }
}

#[test]
fn the_same_files_give_the_same_zip_at_another_time_in_another_place() {
    let zips = ["one", "other"].map(|place| {
        let root = project(place);
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        let host = fs::File::options().write(true).open(root.0.join("host.json")).unwrap();
        host.set_modified(if place == "one" { old } else { std::time::SystemTime::now() }).unwrap();
        drop(host);
        fs::read(packed(&root, &[])).unwrap()
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
    root.write("host.json", r#"{"customHandler": {}}"#);
    let error = format!("{:#}", AppLayout::read(&root.0).unwrap_err());
    assert!(error.contains("host.json must name customHandler.description"), "{error}");
}
