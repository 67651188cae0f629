//! Creates an app in an empty folder from the packages as crates.io would have them, and uses it: format,
//! tests, a note that is written, read and counted under the stand-in for the host.
//!
//! The app gets each kind of part by `cargo local new` before its tests, and the seconds from the first part to
//! the last test are printed.
//!
//! The packages stand in `target/crates`. The app is built in the target directory of the workspace, with the
//! versions of its `Cargo.lock`: so only the packages and the app are compiled.

use std::{
    env,
    fmt::Write as _,
    fs, iter,
    path::{Path, PathBuf},
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::{local::Local, run};

/// A name that is neither that of the template nor sorted like it.
const NAME: &str = "two-rivers";

/// What `cargo local new` writes into the app. Long names cost what short ones do.
const PARTS: &[&str] = &[
    "aggregate meeting-room --of project-manager",
    "projection meeting-room-cards --from meeting-rooms",
    "function CountWords --route /api/owners/{ownerId}/notes/{noteId}/words",
    "function ArchiveNote --command --route /api/owners/{ownerId}/notes/{noteId}/archive",
];

/// The number of looks for a copy that the change feed brings, and the pause between two.
const ATTEMPTS: u32 = 40;
const PAUSE: Duration = Duration::from_millis(250);

/// Creates, tests and uses an app; packages it for Azure, too, if `packaged`.
pub(crate) fn new_app(packaged: bool) -> anyhow::Result<()> {
    let target = env::current_dir()?.join("target");
    let packages = target.join("crates");
    let patch = unpack_packages(&target, &packages)?;
    let in_folder = |folder: &Path, program: &Path| {
        let mut command = Command::new(program);
        command.current_dir(folder).env("CARGO_TARGET_DIR", &target);
        command
    };
    let cargo = Path::new(env!("CARGO"));
    run(in_folder(&packages, cargo).args(["build", "--package", "cargo-tributary"]))?;

    // Outside of the workspace.
    let folder = tempfile::tempdir()?;
    // Cargo reads it for each app below.
    fs::create_dir(folder.path().join(".cargo"))?;
    fs::write(folder.path().join(".cargo/config.toml"), patch)?;
    let create = |example: &str, name: &str, shared: &str| -> anyhow::Result<PathBuf> {
        let app = folder.path().join(name);
        let mut new = Command::new(target.join("debug/cargo-tributary"));
        run(new.args(["tributary", "new", "--example", example]).arg(&app))?;
        fs::copy("Cargo.lock", app.join("Cargo.lock"))?;
        // The features that the workspace has: so what is built there is not built again.
        let manifest = app.join("Cargo.toml");
        let shared = format!(
            "[dependencies]\ntributary-testing = \"0.1.0\"\n\
             typenum = {{ version = \"1\", features = [\"const-generics\"] }}\n{shared}"
        );
        fs::write(&manifest, fs::read_to_string(&manifest)?.replace("[dependencies]\n", &shared))?;
        run(in_folder(&app, cargo).args(["fmt", "--check"]))?;
        Ok(app)
    };
    let app = create(
        "notes",
        NAME,
        "jsonwebtoken = { version = \"12\", default-features = false, features = [\"aws_lc_rs\"] }\n",
    )?;
    let begin = Instant::now();
    for part in PARTS {
        let mut new = in_folder(&app, cargo);
        let said = run(new.args(["local", "new"]).args(part.split(' ')))?;
        add_lines(&app, &String::from_utf8_lossy(&said.stdout))?;
    }
    run(in_folder(&app, cargo).arg("fmt"))?;
    run(in_folder(&app, cargo).args(["run", "--quiet", "--", "functions"]))?;
    run(in_folder(&app, cargo).args(["fmt", "--check"]))?;
    run(in_folder(&app, cargo).arg("test"))?;
    let n = PARTS.len();
    println!("{NAME}: its tests pass, {} s with {n} new parts", begin.elapsed().as_secs());
    // The tests of the example that need its executable: the others run in the workspace.
    let recipes = create("recipes", "three-rivers", "")?;
    run(in_folder(&recipes, cargo).args(["test", "--test", "it", "secrets::"]))?;
    println!("three-rivers: no output of the example `recipes` has a secret");
    if packaged {
        let mut package = in_folder(&app, &target.join("debug/cargo-tributary"));
        package.args(["tributary", "package", "--profile", "dev"]);
        print!("{}", String::from_utf8_lossy(&run(with_tools(&mut package, &target)?)?.stdout));
    }

    let mut local = in_folder(&app, cargo);
    let (_local, api) = Local::start(local.args(["local", "--port", "0", "--cosmos-port", "0"]))?;
    let note = format!("{api}/owners/ann/notes/n1");
    let written = ask(&["-X", "PUT", "--json", r#"{"name": "Buy bread"}"#, &note])?;
    ensure!(written["name"] == "Buy bread", "a written note is answered by {written}");
    let read = ask(&[&note])?;
    ensure!(read == written, "{written} is read as {read}");
    let mut count = Value::Null;
    for _ in 0..ATTEMPTS {
        count = ask(&[&format!("{api}/owners/ann/note-count")])?;
        if count["noteCount"] == 1 {
            println!("{NAME}: a note was written, read and counted");
            return Ok(());
        }
        sleep(PAUSE);
    }
    bail!("the change feed does not bring the count: {count}")
}

/// Adds the lines that `cargo local new` prints, as its user does: `In FILE, PLACE:` and the lines.
fn add_lines(app: &Path, said: &str) -> anyhow::Result<()> {
    let (_, said) = said.split_once("Add these lines:\nIn ").context("no lines to add")?;
    let (said, _) = said.split_once("\n\nNext:").context("no next command")?;
    for edit in said.split("\nIn ") {
        let (place, lines) = edit.split_once(":\n").context("a place has lines")?;
        let (file, place) = place.split_once(", ").context("a place has a file")?;
        let text = fs::read_to_string(app.join(file))?;
        let (before, is_behind) = match place {
            "with the modules" => ("\nmod ", false),
            "in the table of functions" => ("let functions = vec![", true),
            "at the begin of the list" => ("\"containers\": [\n", true),
            _ => ("..Domain::new(\"notebook\")\n    }", true),
        };
        let at = text.find(before).with_context(|| format!("{file} has no {before:?}"))?;
        let (begin, end) = text.split_at(if is_behind { at + before.len() } else { at });
        fs::write(app.join(file), format!("{begin}\n{lines}\n{end}"))?;
    }
    Ok(())
}

/// Lets a command find the tools that `cargo xtask package --install-tools` has installed.
fn with_tools<'a>(command: &'a mut Command, target: &Path) -> anyhow::Result<&'a mut Command> {
    let tools = target.join("tools/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(iter::once(tools.clone()).chain(env::split_paths(&path)))?;
    Ok(command.env("CARGO_ZIGBUILD_PYTHON_PATH", tools.join("python")).env("PATH", path))
}

/// Makes the packages and unpacks them into a workspace. Returns the configuration of Cargo that puts them in
/// the place of crates.io.
fn unpack_packages(target: &Path, packages: &Path) -> anyhow::Result<String> {
    let metadata = ["metadata", "--no-deps", "--format-version", "1"];
    let metadata = run(Command::new(env!("CARGO")).args(metadata))?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let published: Vec<[&str; 2]> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|package| package["publish"] != Value::Array(Vec::new()))
        .map(|package| ["name", "version"].map(|it| package[it].as_str().unwrap_or_default()))
        .collect();
    let mut pack = Command::new(env!("CARGO"));
    pack.args(["package", "--no-verify", "--allow-dirty"]);
    pack.args(published.iter().flat_map(|[name, _]| ["--package", name]));
    run(&mut pack)?;

    if packages.exists() {
        fs::remove_dir_all(packages)?;
    }
    fs::create_dir_all(packages)?;
    let mut patch = "[patch.crates-io]\n".to_owned();
    let mut members = String::new();
    for [name, version] in published {
        let folder = format!("{name}-{version}");
        let archive = target.join("package").join(format!("{folder}.crate"));
        // All files in an archive have one old time, by which Cargo would not see that they have changed.
        let mut tar = Command::new("tar");
        run(tar.args(["-x", "-z", "-m", "-f"]).arg(archive).arg("-C").arg(packages))?;
        let path = packages.join(&folder);
        let path = path.to_str().context("the path of the checkout is not UTF-8")?;
        writeln!(patch, "{name} = {{ path = {path:?} }}")?;
        writeln!(members, "    {folder:?},")?;
    }
    // The profile of this workspace and of the app, so that dependencies are built once for all.
    let manifest = fs::read_to_string("Cargo.toml")?;
    let profile = manifest.find("[profile.dev]").zip(manifest.find("[profile.deployed]"));
    let (begin, end) = profile.context("the workspace has no profiles")?;
    let profile = &manifest[begin..end];
    fs::write(
        packages.join("Cargo.toml"),
        format!("{patch}\n[workspace]\nresolver = \"3\"\nmembers = [\n{members}]\n\n{profile}"),
    )?;
    fs::copy("Cargo.lock", packages.join("Cargo.lock"))?;
    Ok(patch)
}

fn ask(arguments: &[&str]) -> anyhow::Result<Value> {
    let output = run(Command::new("curl").args(["--silent", "--show-error"]).args(arguments))?;
    serde_json::from_slice(&output.stdout).context("the answer is not JSON")
}
