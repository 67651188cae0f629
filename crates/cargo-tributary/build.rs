//! Puts the apps that `cargo tributary new` writes together, in folders of `OUT_DIR`: the files of each, those
//! that both share, and `functions/` from the table `functions.txt`. The folder `parts` is the template with the
//! container of a projection that `cargo local new` writes; tests use it.

use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

/// The files of the template that the examples have, too.
const SHARED: [&str; 10] = [
    ".cargo/config.toml",
    ".github/workflows/ci.yml",
    "Cargo.toml.in",
    "examples/local.rs",
    "gitignore.in",
    "infra/main.bicep",
    "rustfmt.toml",
    "src/main.rs",
    "tests/it/checks.rs",
    "tests/it/secrets.rs",
];

/// The dependencies of the example `recipes`, besides those of the template.
const OF_RECIPES: &str = r#"[dependencies]
argon2 = "0.6"
jsonwebtoken = { version = "12", default-features = false, features = ["aws_lc_rs"] }
slug = "0.1"
"#;

/// Without optimization a password takes most of a second.
const HASHING: &str = "
[profile.dev.package.argon2]
opt-level = 3

[profile.dev.package.blake2]
opt-level = 3
";

const MANIFEST: &str = "Cargo.toml.in";

const CONTAINERS: &str = "infra/containers.json";

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    for folder in ["template", "rooms", "recipes", "src/scaffold/templates"] {
        println!("cargo::rerun-if-changed={folder}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let [template, rooms, recipes, parts] =
        ["notes", "rooms", "recipes", "parts"].map(|app| out.join(app));
    for app in [&template, &rooms, &recipes, &parts] {
        let _ = fs::remove_dir_all(app);
    }
    copy(Path::new("template"), &template)?;
    write_functions(&template)?;

    for (from, example) in [("rooms", &rooms), ("recipes", &recipes)] {
        for file in SHARED {
            copy(&Path::new("template").join(file), &example.join(file))?;
        }
        copy(Path::new(from), example)?;
        write_functions(example)?;
    }
    let manifest = fs::read_to_string(recipes.join(MANIFEST))?;
    let manifest = manifest.replacen("[dependencies]\n", OF_RECIPES, 1);
    write(&recipes.join(MANIFEST), &(manifest + HASHING))?;

    copy(&template, &parts)?;
    let containers = fs::read_to_string(template.join(CONTAINERS))?;
    let of_copies = fs::read_to_string("src/scaffold/templates/projection.json")?;
    let begin = "\"containers\": [\n";
    let containers = containers.replacen(begin, &[begin, &of_copies].concat(), 1);
    write(&parts.join(CONTAINERS), &containers)
}

fn write(file: &Path, text: &str) -> Outcome {
    fs::create_dir_all(file.parent().ok_or("a file has a folder")?)?;
    Ok(fs::write(file, text)?)
}

/// Copies a file, or the files below a folder.
fn copy(from: &Path, to: &Path) -> Outcome {
    if !from.is_dir() {
        return write(to, &fs::read_to_string(from)?);
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Writes `function.json` of each line `NAME JSON` of the table, and removes the table.
fn write_functions(app: &Path) -> Outcome {
    let table = app.join("functions.txt");
    for line in fs::read_to_string(&table)?.lines() {
        let (name, json) = line.split_once(' ').ok_or("a line is NAME JSON")?;
        let mut text = Vec::new();
        serde_transcode::transcode(
            &mut serde_json::Deserializer::from_str(json),
            &mut serde_json::Serializer::pretty(&mut text),
        )?;
        let text = String::from_utf8(text)? + "\n";
        write(&app.join("functions").join(name).join("function.json"), &text)?;
    }
    Ok(fs::remove_file(table)?)
}
