//! `cargo local new`, on a copy of the app that `cargo tributary new` writes. `cargo xtask new-app` builds and
//! tests what it writes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// An app, which goes with the test.
struct AppCopy(PathBuf);

impl AppCopy {
    fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("new-{name}"));
        let _ = fs::remove_dir_all(&root);
        let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cargo-tributary/template");
        copy(&template, &root);
        let manifest = fs::read_to_string(root.join("Cargo.toml.in")).unwrap();
        let manifest = ["DYLIB", "FRAMEWORK", "LOCAL", "TESTING"]
            .iter()
            .fold(manifest, |manifest, crate_of| manifest.replace(crate_of, "version = \"0.1.0\""));
        fs::write(root.join("Cargo.toml"), manifest + "\n[workspace]\n").unwrap();
        Self(root)
    }

    /// Runs the command, which does not build the app.
    fn new_part(&self, arguments: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tributary-local"));
        command.args(["new"]).args(arguments.split(' ')).arg("--without-functions");
        command.current_dir(&self.0).output().unwrap()
    }

    /// Runs the command, and returns its output.
    fn written(&self, arguments: &str) -> String {
        let output = self.new_part(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{arguments}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs the command, which refuses and writes nothing. Returns the reason.
    fn refused(&self, arguments: &str) -> String {
        let before = self.files();
        let output = self.new_part(arguments);
        assert!(!output.status.success(), "{arguments} is not refused");
        assert_eq!(self.files(), before, "{arguments}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn files(&self) -> BTreeMap<PathBuf, String> {
        files(&self.0)
            .into_iter()
            .map(|file| (file.clone(), fs::read_to_string(file).unwrap()))
            .collect()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.join(path)).unwrap()
    }

    fn replace(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has no {from}");
        fs::write(self.0.join(path), text.replace(from, to)).unwrap();
    }
}

impl Drop for AppCopy {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let path = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(file, path).unwrap();
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_function_gets_its_file_its_row_and_its_story() {
    let app = AppCopy::new("function");
    let said =
        app.written("function PinNote --command --route /api/owners/{ownerId}/notes/{noteId}/pin");
    assert!(said.contains("new      src/notes/pin_note.rs"), "{said}");
    assert!(said.ends_with("cargo test pin_note::\n"), "{said}");
    let row = "        post(\"PinNote\",      \"/api/owners/{ownerId}/notes/{noteId}/pin\", AuthLevel::Function, pin_note::pin_note)";
    assert!(app.read("src/notes/mod.rs").contains(row), "{}", app.read("src/notes/mod.rs"));
    let handler = app.read("src/notes/pin_note.rs");
    assert!(
        handler.contains("Params((owner_id, note_id)): Params<(OwnerId, NoteId)>"),
        "{handler}"
    );
    // The path has the examples of the types of the domain.
    assert!(app.read("tests/it/pin_note.rs").contains("/api/owners/ann/notes/n1/pin"));
    assert!(app.read("tests/it/main.rs").contains("mod notes;\nmod pin_note;"));

    app.written("function Ping");
    assert!(app.read("src/notes/ping.rs").contains("async fn ping(State(_state): State<Notes>)"));
    app.written("function PutColor --method put --route /api/colors/{colorId}");
    assert!(app.read("src/notes/put_color.rs").contains("ColorId, \"a1\", id_rule"));
}

#[test]
fn an_aggregate_and_its_projection_are_parts_of_the_domain() {
    let app = AppCopy::new("aggregate");
    app.written("aggregate shopping-list --of household");
    app.written("projection ShoppingListCards --from shopping-lists");
    let domain = app.read("src/notes/mod.rs");
    let parts = "\n    .and(shopping_lists::part(context))\n    .and(shopping_list_cards::part(context)))\n}";
    assert!(domain.contains(parts), "{domain}");
    assert!(domain.contains("pub mod shopping_list_cards;\npub mod shopping_lists;\n"), "{domain}");
    let containers: serde_json::Value =
        serde_json::from_str(&app.read("infra/containers.json")).unwrap();
    let first = |n: usize| {
        let container = &containers["containers"][n];
        [&container["id"], &container["partitionKey"]["paths"][0]].map(ToString::to_string)
    };
    assert_eq!(first(0), ["\"shopping-list-cards\"", "\"/householdId\""]);
    assert_eq!(first(1), ["\"shopping-lists\"", "\"/householdId\""]);
    assert!(
        app.read("src/notes/shopping_list_cards.rs").contains("type Copy = ShoppingListsItem;")
    );
    // The sources of the proof were written with the aggregate.
    assert!(
        app.read("tests/it/shopping_list_cards.rs")
            .contains("use crate::shopping_lists::ShoppingLists;")
    );

    app.written("projection note-copies --from notes");
    assert!(app.read("tests/it/proofs.rs").contains("pub(crate) struct Writer("));
    for file in files(&app.0).iter().filter(|file| file.extension().is_some_and(|it| it == "rs")) {
        let text = fs::read_to_string(file).unwrap();
        let template = ["garden", "Garden", "club_member", "shed", "Shed", "app::UnderTest"];
        let left: Vec<_> = template.iter().filter(|name| text.contains(*name)).collect();
        assert!(left.is_empty(), "{}: {left:?}", file.display());
        let mut rustfmt = Command::new("rustfmt");
        let rustfmt = rustfmt.args(["--check", "--edition", "2024"]).arg(file).current_dir(&app.0);
        assert!(rustfmt.output().unwrap().status.success(), "{} is not formatted", file.display());
    }
}

#[test]
fn a_dry_run_prints_what_it_would_write_and_writes_nothing() {
    let app = AppCopy::new("dry-run");
    let before = app.files();
    let said = app.written("aggregate recipe --dry-run");
    assert!(
        said.contains("new      src/notes/recipes/model.rs\n    + //! The stored items"),
        "{said}"
    );
    assert!(said.contains("+     .and(recipes::part(context)))"), "{said}");
    assert!(said.ends_with("Nothing was written.\n"), "{said}");
    assert_eq!(app.files(), before);
}

#[test]
fn what_does_not_fit_the_app_is_refused_with_the_reason_and_nothing_is_written() {
    let app = AppCopy::new("refused");
    for (arguments, reason) in [
        ("aggregate 1st", "no name"),
        ("aggregate type", "no keyword of Rust"),
        ("aggregate item", "choose another"),
        ("aggregate note", "exists already"),
        ("function PutNote", "PutNote exists already"),
        ("function Model", "src/notes/model.rs exists already"),
        ("function Other --route /other", "/api/"),
        ("function Other --route /api/{other_id}", "\"otherId\""),
        ("projection cards --from recipes", "no container \"recipes\", but notes"),
        ("projection notes --from notes", "has a container \"notes\" already"),
        ("projection cards --from note-counts", "NotesItem"),
        ("projection cards --from notes --item Note", "no type Note"),
        ("aggregate recipe --domain other", "--domain notes"),
    ] {
        let said = app.refused(arguments);
        assert!(said.contains(reason), "{arguments}: {said}");
    }
    app.written("aggregate recipe");
    assert!(app.refused("aggregate recipe").contains("exists already; nothing was written"));

    app.replace(
        "src/lib.rs",
        ".domain(notes::domain)",
        ".domain(notes::domain).domain(rooms::domain)",
    );
    let said = app.refused("function Ping");
    assert!(said.contains("name one of the domains notes, rooms: --domain notes"), "{said}");
    app.written("function Ping --domain notes");
}

#[test]
fn a_domain_of_another_form_is_left_to_its_author_with_the_line_and_the_place() {
    let app = AppCopy::new("by-hand");
    app.replace("src/notes/mod.rs", "    Ok(Domain {", "    build(Domain {");
    let said = app.written("aggregate recipe");
    let by_hand = "by hand  In src/notes/mod.rs, behind the `Domain { … }` of `fn domain`, add:\n    .and(recipes::part(context))\n";
    assert!(said.contains(by_hand), "{said}");
    assert!(app.read("src/notes/mod.rs").contains("pub mod recipes;"));
    assert!(!app.read("src/notes/mod.rs").contains("recipes::part"));
}
