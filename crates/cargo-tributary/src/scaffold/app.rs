//! The app: its crate, its domains, its tests and its containers.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::Value;
use syn::{
    Expr, ExprMethodCall, File, ImplItem, Item, ItemImpl, Lit, Type,
    visit::{self, Visit},
};

use crate::scaffold::{
    plan::WritePlan,
    source::{self, NoPlace},
};

/// The file of the containers.
pub(crate) const CONTAINERS: &str = "infra/containers.json";

/// An app in its folder.
pub(crate) struct AppFolder {
    pub root: PathBuf,
    /// The name of the library, as code names it.
    pub library: String,
}

/// A domain of the app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DomainFolder {
    /// The name, which is that of its module.
    pub name: String,
    /// Its file, `src/notes/mod.rs`.
    pub file: PathBuf,
    /// Its folder, `src/notes`.
    pub folder: PathBuf,
}

/// A file of Rust, with its path in the app.
pub(crate) struct SourceFile {
    pub path: PathBuf,
    pub tree: File,
}

/// A test program: `tests/it/main.rs`.
pub(crate) struct StoryProgram {
    pub folder: PathBuf,
    /// True if each file of the folder is a module.
    finds_files: bool,
}

/// The sources of a container, as tests write them.
pub(crate) struct StorySources {
    pub program: StoryProgram,
    pub file: PathBuf,
    /// The type in this file.
    pub name: String,
    /// The module of the type.
    pub module: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
    kind: Vec<String>,
}

/// Returns the cargo that started this process, so that the toolchain is the same.
pub(crate) fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

impl AppFolder {
    /// Reads the app in a folder.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut cargo = Command::new(cargo());
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
        let output = cargo.output().context("cargo cannot be run")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {said}", root.display());
        let Metadata { packages } = serde_json::from_slice(&output.stdout)?;
        let manifest = fs::canonicalize(root.join("Cargo.toml"))?;
        let is_root = |one: &&Package| {
            fs::canonicalize(&one.manifest_path).is_ok_and(|path| path == manifest)
        };
        let package = packages.iter().find(is_root);
        let library = package.and_then(|package| {
            let is_library = |one: &&CargoTarget| one.kind.iter().any(|kind| kind == "lib");
            package.targets.iter().find(is_library)
        });
        let library = library.with_context(|| format!("{} has no library", root.display()))?;
        Ok(Self { root: root.to_owned(), library: library.name.replace('-', "_") })
    }

    /// Returns the wanted domain, or the only one.
    pub(crate) fn domain(&self, wanted: Option<&str>) -> anyhow::Result<DomainFolder> {
        let app = Path::new("src/lib.rs");
        let text = fs::read_to_string(self.root.join(app)).context("src/lib.rs")?;
        let Ok(tree) = source::parse(&text) else { bail!("src/lib.rs is no Rust") };
        let mut domains = Domains::default();
        domains.visit_file(&tree);
        let names = domains.0;
        let list = names.join(", ");
        let name = match wanted {
            Some(wanted) => names.iter().find(|name| *name == wanted),
            None => names.first().filter(|_| names.len() == 1),
        };
        let Some(name) = name else {
            ensure!(!names.is_empty(), "src/lib.rs has no `.domain(NAME::domain)`");
            bail!("name one of the domains {list}: --domain {}", names[0]);
        };
        let folder = Path::new("src").join(name);
        let files = [folder.join("mod.rs"), folder.with_extension("rs")];
        let file = files.into_iter().find(|file| self.root.join(file).exists());
        let file = file.with_context(|| format!("the domain {name} has no src/{name}/mod.rs"))?;
        Ok(DomainFolder { name: name.clone(), file, folder })
    }

    /// Returns the files of Rust below a folder, or the file itself, in the order of their paths.
    pub(crate) fn sources(&self, path: &Path) -> anyhow::Result<Vec<SourceFile>> {
        let mut files = Vec::new();
        let full = self.root.join(path);
        if full.is_dir() {
            let entries = fs::read_dir(&full).with_context(|| full.display().to_string())?;
            let mut entries: Vec<_> = entries.collect::<Result<_, _>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                files.extend(self.sources(&path.join(entry.file_name()))?);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&full).with_context(|| full.display().to_string())?;
            if let Ok(tree) = source::parse(&text) {
                files.push(SourceFile { path: path.to_owned(), tree });
            }
        }
        Ok(files)
    }

    /// Returns the test program of a domain, or that of the app.
    pub(crate) fn story_program(&self, domain: &DomainFolder) -> anyhow::Result<StoryProgram> {
        let folders = [Path::new("tests").join(&domain.name), PathBuf::from("tests/it")];
        let mut having =
            folders.into_iter().filter(|one| self.root.join(one).join("main.rs").exists());
        self.program_in(having.next().context("there is no tests/it/main.rs")?)
    }

    fn program_in(&self, folder: PathBuf) -> anyhow::Result<StoryProgram> {
        let main = fs::read_to_string(self.root.join(&folder).join("main.rs"))?;
        Ok(StoryProgram { folder, finds_files: main.contains("automod::dir!") })
    }

    /// Returns the import of the app under test in a test program: `crate::App`.
    pub(crate) fn under_test(&self, program: &StoryProgram) -> anyhow::Result<String> {
        let mut files = self.sources(&program.folder)?;
        files.extend(self.sources(Path::new("tests/common"))?);
        let mut found = files.iter().flat_map(|file| {
            let of_trait = impls(&file.tree, "AppUnderTest");
            of_trait.map(|(name, _)| format!("{}::{name}", module(&program.folder, &file.path)))
        });
        found.next().with_context(|| format!("{} has no AppUnderTest", program.folder.display()))
    }

    /// Returns the sources of a container in the tests.
    pub(crate) fn story_sources(&self, container: &str) -> anyhow::Result<Option<StorySources>> {
        for SourceFile { path, tree } in self.sources(Path::new("tests"))? {
            let named = impls(&tree, "Sources").find(|(_, one)| has_container(one, container));
            let Some((name, _)) = named else { continue };
            let mut parts = path.iter();
            let folder: PathBuf = parts.by_ref().take(2).collect();
            if !self.root.join(&folder).join("main.rs").exists() {
                continue;
            }
            let module = module(&folder, &path);
            let program = self.program_in(folder)?;
            return Ok(Some(StorySources { program, file: path, name, module }));
        }
        Ok(None)
    }

    /// Returns the containers.
    pub(crate) fn containers(&self) -> anyhow::Result<Vec<Value>> {
        let file = fs::read_to_string(self.root.join(CONTAINERS)).context(CONTAINERS)?;
        let mut file: Value = serde_json::from_str(&file).context(CONTAINERS)?;
        match file["containers"].take() {
            Value::Array(containers) => Ok(containers),
            _ => bail!("{CONTAINERS} has no `containers`"),
        }
    }

    /// Plans a new container, as the first.
    pub(crate) fn add_container(
        &self,
        plan: &mut WritePlan,
        id: &str,
        json: &str,
    ) -> anyhow::Result<()> {
        let exists = self.containers()?.iter().any(|container| container["id"] == id);
        ensure!(!exists, "{CONTAINERS} has a container {id:?} already; nothing was written");
        let place = ("among the containers", json.trim());
        plan.edit(CONTAINERS, place, |text| {
            let list = "\"containers\": [\n";
            let first = text.find(list).ok_or(NoPlace)? + list.len();
            let mut text = text.to_owned();
            text.insert_str(first, json);
            let parsed: Value = serde_json::from_str(&text).map_err(|_| NoPlace)?;
            let is_there = parsed["containers"][0]["id"] == id;
            is_there.then_some(text).ok_or(NoPlace)
        })
    }

    /// Plans a story, and its line among the modules of its program.
    pub(crate) fn add_story(
        plan: &mut WritePlan,
        program: &StoryProgram,
        (name, text): (&str, &str),
    ) -> anyhow::Result<()> {
        plan.create(program.folder.join(format!("{name}.rs")), text)?;
        let main = program.folder.join("main.rs");
        if program.finds_files {
            // It is written again as it is, so that Cargo builds it.
            return plan.edit(main, ("among the modules", name), |text| Ok(text.to_owned()));
        }
        plan.add_module(&main, ("", name))
    }

    /// Refuses functions that exist.
    pub(crate) fn check_functions(&self, names: &[String]) -> anyhow::Result<()> {
        for name in names {
            let folder = self.root.join("functions").join(name);
            ensure!(!folder.exists(), "the function {name} exists already; nothing was written");
        }
        Ok(())
    }
}

/// The names of `.domain(name::domain)`.
#[derive(Default)]
struct Domains(Vec<String>);

impl<'a> Visit<'a> for Domains {
    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        // The first call of a chain is the innermost.
        visit::visit_expr_method_call(self, call);
        if call.method == "domain"
            && let Some(Expr::Path(path)) = call.args.first()
            && let Some(module) = path.path.segments.iter().rev().nth(1)
        {
            self.0.push(module.ident.to_string());
        }
    }
}

/// Returns the types of a file that implement a trait.
pub(crate) fn impls<'a>(
    tree: &'a File,
    of_trait: &'a str,
) -> impl Iterator<Item = (String, &'a ItemImpl)> {
    tree.items.iter().filter_map(move |item| {
        let Item::Impl(one) = item else { return None };
        let (path, _) = one.trait_.as_ref()?;
        let Type::Path(own) = &*one.self_ty else { return None };
        let is_named = path.segments.last()?.ident == of_trait;
        is_named.then_some((own.path.segments.last()?.ident.to_string(), one))
    })
}

/// Returns true for an implementation with `const CONTAINER: … = "…"`.
fn has_container(one: &ItemImpl, container: &str) -> bool {
    one.items.iter().any(|item| {
        matches!(item, ImplItem::Const(constant) if constant.ident == "CONTAINER" && is_text(&constant.expr, container))
    })
}

fn is_text(expression: &Expr, text: &str) -> bool {
    matches!(expression, Expr::Lit(literal) if matches!(&literal.lit, Lit::Str(own) if own.value() == text))
}

/// Returns the module of a file in a test program: `crate::proofs` for `tests/it/proofs.rs`, and
/// `crate::common::world` for `tests/common/world.rs`.
fn module(program: &Path, file: &Path) -> String {
    let own = file.strip_prefix(program).or_else(|_| file.strip_prefix("tests")).unwrap_or(file);
    let names = own.with_extension("");
    let names = names.iter().filter_map(|name| name.to_str());
    let names = names.filter(|name| !matches!(*name, "main" | "mod"));
    ["crate"].into_iter().chain(names).collect::<Vec<_>>().join("::")
}
