//! `cargo tributary new` on the command line.

use std::{fs, process::Output};

use crate::Folder;

fn new_app(folder: &Folder, arguments: &[&str]) -> Output {
    folder.tributary(&[&["new"], arguments].concat())
}

#[test]
fn an_app_has_its_own_name_everywhere() {
    let folder = Folder::new("named");
    assert!(new_app(&folder, &["meeting-rooms"]).status.success());
    let manifest = folder.read("meeting-rooms/Cargo.toml");
    assert!(manifest.contains("name = \"meeting-rooms\""), "{manifest}");
    let released = concat!("tributary-local = { version = \"", env!("CARGO_PKG_VERSION"), "\"");
    assert!(manifest.contains(released), "{manifest}");
    assert!(folder.read("meeting-rooms/src/main.rs").contains("meeting_rooms::program()"));
    assert!(folder.read("meeting-rooms/host.json").contains("\"meeting-rooms\""));
    assert!(folder.read("meeting-rooms/.gitignore").contains("/target"));
    assert!(folder.read("meeting-rooms/functions/PutNote/function.json").contains("{noteId}"));
    assert!(folder.read("meeting-rooms/src/notebook/notes.rs").contains("pub struct Note {"));
    for text in folder.files("meeting-rooms").into_values() {
        for name in ["my-app", "my_app", "DYLIB", "FRAMEWORK", "LOCAL", "TESTING", "arden", "lub"] {
            assert!(!text.contains(name), "{name}: {text}");
        }
    }
    let checkout = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    assert!(new_app(&folder, &["beside", "--checkout", checkout]).status.success());
    assert!(folder.read("beside/Cargo.toml").contains("tributary-local = { path = \"/"));
    assert!(new_app(&folder, &["--example", "rooms", "offices"]).status.success());
    for text in folder.files("offices").into_values() {
        assert!(!text.contains("note") && !text.contains("my-app"), "{text}");
    }
}

#[test]
fn a_bad_name_or_a_folder_with_files_is_refused_and_nothing_is_written() {
    let folder = Folder::new("refused");
    folder.write("full/file", "mine");
    for (arguments, reason) in [
        (&["My App"][..], "lowercase letters"),
        (&["other", "--name", "1st"], "lowercase letters"),
        (&["serde"], "another crate"),
        (&["full"], "not empty"),
        (&["other", "--checkout", "nowhere"], "no checkout of Tributary"),
    ] {
        let output = new_app(&folder, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(reason), "{arguments:?}: {said}");
    }
    let left: Vec<_> = fs::read_dir(&folder.0).unwrap().collect();
    assert_eq!((left.len(), folder.read("full/file")), (1, "mine".to_owned()));
}
