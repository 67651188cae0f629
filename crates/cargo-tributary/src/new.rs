//! Writes the files of the template under the name of the app.

use std::{fs, io::ErrorKind, path::Path, process::Command};

use anyhow::{Context, ensure};
use cargo_tributary::scaffold::Replacements;
use include_dir::{Dir, DirEntry, include_dir};

use crate::{Example, New};

/// The apps as `build.rs` has put them together.
static NOTES: Dir<'_> = include_dir!("$OUT_DIR/notes");
static ROOMS: Dir<'_> = include_dir!("$OUT_DIR/rooms");
static RECIPES: Dir<'_> = include_dir!("$OUT_DIR/recipes");

/// The name of the app in the template, as a package and as a crate.
const NAME: [&str; 2] = ["my-app", "my_app"];

/// The crates of Tributary in the template, and their folders in a checkout.
const DEPENDENCIES: [(&str, &str); 4] = [
    ("DYLIB", "dylib"),
    ("FRAMEWORK", "tributary-functions"),
    ("LOCAL", "local"),
    ("TESTING", "testing"),
];

const MAX_NAME_LENGTH: usize = 64;

/// Files of the template that Cargo and git would read under their own names.
const RENAMED: [(&str, &str); 2] =
    [("Cargo.toml.in", "Cargo.toml"), ("gitignore.in", ".gitignore")];

pub(crate) fn create(new: &New) -> anyhow::Result<()> {
    let New { folder, name, example, checkout } = new;
    let name = match name {
        Some(name) => name.clone(),
        None => folder
            .file_name()
            .context("the folder has no name: give one with --name")?
            .to_string_lossy()
            .into_owned(),
    };
    check_name(&name)?;
    check_empty(folder)?;
    let mut dependencies = Vec::new();
    for (placeholder, folder) in DEPENDENCIES {
        dependencies.push((placeholder, dependency(checkout.as_deref(), folder)?));
    }
    let notes = Replacements::of_notes();
    let fill = |text: &str| {
        let text = notes.apply(text);
        let mut text = text.replace(NAME[0], &name).replace(NAME[1], &name.replace('-', "_"));
        for (placeholder, dependency) in &dependencies {
            text = text.replace(placeholder, dependency);
        }
        text
    };
    let app = match example {
        Example::Notes => &NOTES,
        Example::Rooms => &ROOMS,
        Example::Recipes => &RECIPES,
    };
    write(app, folder, &fill)?;
    // The names are shorter than those of the template. Without rustfmt the app stays as it is.
    let files = ["src/lib.rs", "src/main.rs", "tests/it/main.rs"];
    let mut rustfmt = Command::new("rustfmt");
    let _ = rustfmt.args(["--edition", "2024"]).args(files).current_dir(folder).output();
    println!("Created {name} in {}. Next:\n", folder.display());
    println!("    cd {}\n    cargo test\n    cargo local", folder.display());
    Ok(())
}

fn check_name(name: &str) -> anyhow::Result<()> {
    let is_valid = name.len() <= MAX_NAME_LENGTH
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    ensure!(
        is_valid,
        "{name:?} is no name of an app: 1 to {MAX_NAME_LENGTH} lowercase letters, digits and hyphens, and no \
         digit or hyphen at the start; give one with --name"
    );
    // The crates that the app uses, and those of the language.
    let mut taken =
        "std core alloc test argon2 axum jsonwebtoken schemars serde slug tokio tributary-dylib \
                     tributary-functions tributary-local tributary-testing"
            .split(' ');
    ensure!(
        !taken.any(|taken| taken == name),
        "{name:?} is the name of another crate; give one with --name"
    );
    Ok(())
}

fn check_empty(folder: &Path) -> anyhow::Result<()> {
    let first = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next(),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| folder.display().to_string()),
    };
    ensure!(first.is_none(), "{} is not empty; nothing was written", folder.display());
    Ok(())
}

/// Returns the source of a dependency for `Cargo.toml`: the version of this program, since all crates are
/// released together, or a folder of the checkout.
fn dependency(checkout: Option<&Path>, folder: &str) -> anyhow::Result<String> {
    let Some(checkout) = checkout else {
        return Ok(format!("version = {:?}", env!("CARGO_PKG_VERSION")));
    };
    let path = fs::canonicalize(checkout.join("crates").join(folder))
        .with_context(|| format!("{} is no checkout of Tributary", checkout.display()))?;
    let path = path.to_str().context("the path of the checkout is not UTF-8")?;
    Ok(format!("path = {path:?}"))
}

fn write(from: &Dir<'_>, to: &Path, fill: &impl Fn(&str) -> String) -> anyhow::Result<()> {
    for entry in from.entries() {
        match entry {
            DirEntry::Dir(folder) => write(folder, to, fill)?,
            DirEntry::File(file) => {
                let mut path = to.join(fill(&file.path().to_string_lossy()));
                let renamed = RENAMED.iter().find(|(own, _)| path.ends_with(own));
                if let Some((_, other)) = renamed {
                    path.set_file_name(other);
                }
                let folder = path.parent().context("a file has a folder")?;
                fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
                let text = file.contents_utf8().context("a file of the template is not UTF-8")?;
                fs::write(&path, fill(text)).with_context(|| path.display().to_string())?;
            }
        }
    }
    Ok(())
}
