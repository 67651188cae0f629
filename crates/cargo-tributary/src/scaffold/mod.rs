//! Writes functions, aggregates and projections for an app on `tributary-functions`: sources, stories and the
//! definitions of containers. `cargo local new` is its command.
//!
//! It writes new files only. The lines for files that exist are printed with their places.
//!
//! The templates are files of Rust: in `templates/`, and of an aggregate those of the app that
//! `cargo tributary new` writes. `tests/template.rs` builds and tests them as they stand.

mod function;
mod names;

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail, ensure};
use clap::{Args, Subcommand};
use serde_json::Value;

pub use self::function::NewFunction;
use self::names::Name;
pub use self::names::Replacements;

/// A part of an app that can be written.
#[derive(Debug, Subcommand)]
pub enum NewPart {
    /// Write a query or a command over HTTP.
    Function(NewFunction),
    /// Write an item type with create, get, edit and delete under ETags, and a list in pages.
    Aggregate(NewAggregate),
    /// Write copies of a container's items that follow its change feed.
    Projection(NewProjection),
}

/// The domain of a part.
#[derive(Debug, Args)]
struct InDomain {
    /// The domain of the part, if the app has several.
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
}

/// An item that is created, edited and deleted under ETags, and listed by name in its logical partition.
#[derive(Debug, Args)]
pub struct NewAggregate {
    /// The name of one item, such as `recipe`.
    #[arg(value_name = "NAME")]
    name: String,

    /// The name of many items, if it is irregular.
    #[arg(long, value_name = "NAME")]
    plural: Option<String>,

    /// The owner of the items: its id is the partition key.
    #[arg(long, value_name = "NAME", default_value = "owner")]
    of: String,

    #[command(flatten)]
    within: InDomain,
}

/// Copies of the items of a container, in a container of their own. The change feed updates them.
#[derive(Debug, Args)]
pub struct NewProjection {
    /// The name of the copies, such as `recipe-cards`.
    #[arg(value_name = "NAME")]
    name: String,

    /// The container of the sources, of an aggregate that `new aggregate` has written.
    #[arg(long, value_name = "CONTAINER")]
    from: String,

    #[command(flatten)]
    within: InDomain,
}

const AGGREGATE: &str = include_str!("../../template/src/garden/garden_tools.rs");
const AGGREGATE_STORY: &str = include_str!("../../template/tests/it/garden_tools.rs");
const AGGREGATE_CONTAINER: &str = include_str!("templates/aggregate.json");
const COPIES: &str = include_str!("templates/copies.rs");
const COPIES_STORY: &str = include_str!("templates/copies_story.rs");
const COPIES_CONTAINER: &str = include_str!("templates/projection.json");

const CONTAINERS: &str = "infra/containers.json";

struct Plan {
    functions: Vec<String>,
    files: Vec<(String, String)>,
    lines: Vec<(String, String)>,
    story: String,
}

/// Writes a part into the app in this folder. Returns a text with the new files, the lines to add, and the
/// next command.
///
/// # Errors
/// When a name is taken or invalid, or the part does not fit the app. Nothing is written then.
pub fn create(root: &Path, part: &NewPart) -> anyhow::Result<String> {
    let InDomain { domain } = match part {
        NewPart::Function(new) => &new.within,
        NewPart::Aggregate(new) => &new.within,
        NewPart::Projection(new) => &new.within,
    };
    let domain = self::domain(root, domain.as_deref())?;
    let plan = match part {
        NewPart::Function(new) => function::plan(&domain, new)?,
        NewPart::Aggregate(new) => aggregate(root, &domain, new)?,
        NewPart::Projection(new) => projection(root, &domain, new)?,
    };
    for name in &plan.functions {
        let exists = root.join("functions").join(name).exists();
        ensure!(!exists, "the function {name} exists already; nothing was written");
    }
    let mut files = Vec::new();
    for (path, text) in &plan.files {
        ensure!(!root.join(path).exists(), "{path} exists already; nothing was written");
        files.push((path, formatted(root, text)?));
    }
    let mut report = String::new();
    for (path, text) in files {
        report.extend(["new ", path, "\n"]);
        let file = root.join(path);
        let folder = file.parent().context("a file has a folder")?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        fs::write(&file, text).with_context(|| path.clone())?;
    }
    report.push_str("\nAdd these lines:\n");
    for (place, lines) in &plan.lines {
        report.extend(["In ", place, ":\n", lines, "\n"]);
    }
    report.extend(["\nNext: cargo run -- functions && cargo test ", &plan.story, "::\n"]);
    Ok(report)
}

fn aggregate(root: &Path, domain: &str, new: &NewAggregate) -> anyhow::Result<Plan> {
    let item = Name::parse(&new.name)?;
    let items = new.plural.as_deref().map_or_else(|| Ok(item.plural()), Name::parse)?;
    let owner = Name::parse(&new.of)?;
    let names = Replacements::of_names(&[
        ("garden_tools", &items),
        ("garden_tool", &item),
        ("club_members", &owner.plural()),
        ("club_member", &owner),
    ]);
    let names = names.and("my_app::garden::", format!("{}::{domain}::", library(root)?));
    names::check(&[AGGREGATE, AGGREGATE_STORY], &[&item, &items, &owner])?;
    check_new_container(root, &items)?;

    let module = items.snake();
    let functions = ["Put", "Get", "Delete"].map(|verb| format!("{verb}{}", item.pascal()));
    let list = format!("List{}", items.pascal());
    Ok(Plan {
        functions: functions.into_iter().chain([list]).collect(),
        files: vec![
            (format!("src/{domain}/{module}.rs"), names.apply(AGGREGATE)),
            (format!("tests/it/{module}.rs"), names.apply(AGGREGATE_STORY)),
        ],
        lines: lines_of_part(domain, &module, &names.apply(AGGREGATE_CONTAINER)),
        story: module,
    })
}

fn projection(root: &Path, domain: &str, new: &NewProjection) -> anyhow::Result<Plan> {
    let name = Name::parse(&new.name)?;
    let from = Name::parse(&new.from)?;
    let key = partition_key(root, &new.from)?;
    let module = format!("src/{domain}/{}.rs", from.snake());
    ensure!(
        root.join(&module).exists(),
        "there is no {module}: `cargo local new projection` copies items that `cargo local new aggregate` has \
         written; nothing was written"
    );
    let names = Replacements::of_names(&[("shed_cards", &name), ("garden_tools", &from)])
        .and("/clubMemberId", key)
        .and("my_app::parts::", format!("{}::{domain}::", library(root)?));
    names::check(&[COPIES, COPIES_STORY], &[&name])?;
    check_new_container(root, &name)?;

    let module = name.snake();
    Ok(Plan {
        functions: vec![name.pascal()],
        files: vec![
            (format!("src/{domain}/{module}.rs"), names.apply(COPIES)),
            (format!("tests/it/{module}.rs"), names.apply(COPIES_STORY)),
        ],
        lines: lines_of_part(domain, &module, &names.apply(COPIES_CONTAINER)),
        story: module,
    })
}

/// Returns the lines for a part of a domain with a container of its own.
fn lines_of_part(domain: &str, module: &str, container: &str) -> Vec<(String, String)> {
    let file = format!("src/{domain}/mod.rs");
    vec![
        (format!("{file}, with the modules"), format!("pub mod {module};")),
        (
            format!("{file}, behind the `Domain {{ … }}` of `fn domain`"),
            format!("    .and({module}::part(context))"),
        ),
        (format!("{CONTAINERS}, at the begin of the list"), container.trim_end().to_owned()),
        ("tests/it/main.rs, with the modules".to_owned(), format!("mod {module};")),
    ]
}

/// Returns the wanted domain, or the only folder of `src` that is a module.
fn domain(root: &Path, wanted: Option<&str>) -> anyhow::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join("src")).context("src")? {
        let entry = entry?;
        if entry.path().join("mod.rs").exists() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    match wanted {
        Some(wanted) if names.iter().any(|name| name == wanted) => Ok(wanted.to_owned()),
        None if names.len() == 1 => Ok(names.remove(0)),
        _ if names.is_empty() => bail!("src has no folder of a domain, with its mod.rs"),
        _ => bail!("name one of the domains {}: --domain {}", names.join(", "), names[0]),
    }
}

fn library(root: &Path) -> anyhow::Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("Cargo.toml")?;
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
    Ok(name.context("Cargo.toml has no name")?.replace('-', "_"))
}

fn containers(root: &Path) -> anyhow::Result<Vec<Value>> {
    let file = fs::read_to_string(root.join(CONTAINERS)).context(CONTAINERS)?;
    let mut file: Value = serde_json::from_str(&file).context(CONTAINERS)?;
    match file["containers"].take() {
        Value::Array(containers) => Ok(containers),
        _ => bail!("{CONTAINERS} has no `containers`"),
    }
}

fn check_new_container(root: &Path, name: &Name) -> anyhow::Result<()> {
    let id = name.kebab();
    let exists = containers(root)?.iter().any(|container| container["id"] == *id);
    ensure!(!exists, "{CONTAINERS} has a container {id:?} already; nothing was written");
    Ok(())
}

fn partition_key(root: &Path, id: &str) -> anyhow::Result<String> {
    let containers = containers(root)?;
    let container = containers.iter().find(|container| container["id"] == id);
    let container = container.with_context(|| format!("{CONTAINERS} has no container {id:?}"))?;
    let path = container["partitionKey"]["paths"][0].as_str();
    path.map(str::to_owned).with_context(|| format!("{id:?} has no partition key"))
}

/// Returns Rust as rustfmt writes it in this app, or as it is where rustfmt is missing.
fn formatted(root: &Path, text: &str) -> anyhow::Result<String> {
    let mut rustfmt = Command::new("rustfmt");
    rustfmt.args(["--edition", "2024", "--quiet"]).current_dir(root);
    rustfmt.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut rustfmt) = rustfmt.spawn() else {
        return Ok(text.to_owned());
    };
    rustfmt.stdin.take().context("rustfmt takes no input")?.write_all(text.as_bytes())?;
    let output = rustfmt.wait_with_output()?;
    ensure!(
        output.status.success(),
        "rustfmt: {}\n{text}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
