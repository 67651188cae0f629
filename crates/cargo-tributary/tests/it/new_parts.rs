//! `cargo local new`, on a folder as `cargo tributary new` writes it.

use cargo_tributary::scaffold::{self, NewPart};
use clap::Parser;

use crate::Folder;

#[derive(Parser)]
struct CommandLine {
    #[command(subcommand)]
    part: NewPart,
}

/// Creates an app without its sources.
fn app(name: &str) -> Folder {
    let folder = Folder::new(&format!("new-{name}"));
    folder.write("Cargo.toml", "[package]\nname = \"small-shop\"\n");
    folder.write("infra/containers.json", r#"{"containers": [{"id": "notes"}]}"#);
    folder.write("rustfmt.toml", include_str!("../../template/rustfmt.toml"));
    folder.write("src/notes/mod.rs", "");
    folder.write("src/notes/model.rs", "");
    folder.write("functions/PutNote/function.json", "{}");
    folder
}

fn create(app: &Folder, arguments: &str) -> anyhow::Result<String> {
    let words = ["new"].into_iter().chain(arguments.split(' '));
    scaffold::create(&app.0, &CommandLine::try_parse_from(words)?.part)
}

#[test]
fn a_function_gets_its_file_and_its_story_and_its_row_is_printed() {
    let app = app("function");
    let pin = "function PinNote --command --route /api/owners/{ownerId}/notes/{noteId}/pin";
    insta::assert_snapshot!(create(&app, pin).unwrap(), @r#"
    new src/notes/pin_note.rs
    new tests/it/pin_note.rs

    Add these lines:
    In src/notes/mod.rs, with the modules:
    mod pin_note;
    In src/notes/mod.rs, in the table of functions:
            post("PinNote", "/api/owners/{ownerId}/notes/{noteId}/pin", Function, pin_note::pin_note).edits(),
    In tests/it/main.rs, with the modules:
    mod pin_note;

    Next: cargo run -- functions && cargo test pin_note::
    "#);
    let handler = app.read("src/notes/pin_note.rs");
    assert!(
        handler.contains("Params((owner_id, note_id)): Params<(OwnerId, NoteId)>"),
        "{handler}"
    );
    assert!(handler.contains("PinNoteAnswer { text, owner_id, note_id }"), "{handler}");
    let story = app.read("tests/it/pin_note.rs");
    assert!(story.contains("\"POST\", \"/api/owners/a1/notes/a1/pin\""), "{story}");

    create(&app, "function Ping").unwrap();
    assert!(app.read("src/notes/ping.rs").contains("async fn ping() -> Result<Json<PingAnswer>"));
    create(&app, "function PutColor --command --route /api/colors/{colorId}").unwrap();
    assert!(app.read("src/notes/put_color.rs").contains("Params(color_id): Params<ColorId>"));
}

#[test]
fn an_aggregate_and_its_projection_have_no_name_of_the_template() {
    let app = app("aggregate");
    let lines = create(&app, "aggregate shopping-list --of household").unwrap();
    assert!(lines.contains("    .and(shopping_lists::part(context))"), "{lines}");
    // The container is added by hand.
    let (_, container) = lines.split_once("begin of the list:\n").unwrap();
    let (container, _) = container.split_once("\nIn tests/it/main.rs").unwrap();
    let list = format!("{{\"containers\": [\n{container}\n{{\"id\": \"notes\"}}]}}");
    app.write("infra/containers.json", &list);
    create(&app, "projection ShoppingListCards --from shopping-lists").unwrap();
    let copies = app.read("src/notes/shopping_list_cards.rs");
    assert!(copies.contains("type Copy = ShoppingListsItem;"), "{copies}");
    let story = app.read("tests/it/shopping_list_cards.rs");
    assert!(story.contains("use crate::{World, shopping_lists::ShoppingLists};"), "{story}");
    assert!(story.contains("use small_shop::notes::shopping_list_cards::ShoppingListCards;"));
    for (file, text) in app.files("") {
        for name in ["garden", "Garden", "club_member", "shed", "Shed", "my_app"] {
            assert!(!text.contains(name), "{file}: {name}");
        }
    }
}

#[test]
fn what_does_not_fit_the_app_is_refused_with_the_reason_and_nothing_is_written() {
    let app = app("refused");
    create(&app, "aggregate recipe").unwrap();
    let containers = r#"{"containers": [
        {"id": "notes", "partitionKey": {"paths": ["/ownerId"]}},
        {"id": "recipes", "partitionKey": {"paths": ["/ownerId"]}}
    ]}"#;
    app.write("infra/containers.json", containers);
    let before = app.files("");
    for (arguments, reason) in [
        ("aggregate 1st", "no name"),
        ("aggregate type", "no keyword of Rust"),
        ("aggregate item", "choose another"),
        ("aggregate note", "has a container \"notes\" already"),
        ("aggregate recipe", "has a container \"recipes\" already; nothing was written"),
        ("function PutNote", "PutNote exists already"),
        ("function Model", "src/notes/model.rs exists already"),
        ("function Other --route /other", "/api/"),
        ("function Other --route /api/{other_id}", "\"otherId\""),
        ("projection cards --from cakes", "no container \"cakes\""),
        ("projection notes --from recipes", "has a container \"notes\" already"),
        ("projection cards --from notes", "there is no src/notes/notes.rs"),
        ("aggregate cake --domain other", "--domain notes"),
    ] {
        let error = create(&app, arguments).unwrap_err().to_string();
        assert!(error.contains(reason), "{arguments}: {error}");
        assert_eq!(app.files(""), before, "{arguments}");
    }
    app.write("src/rooms/mod.rs", "");
    let error = create(&app, "function Ping").unwrap_err().to_string();
    assert!(error.contains("name one of the domains notes, rooms: --domain notes"), "{error}");
    create(&app, "function Ping --domain notes").unwrap();
}
