//! The Cargo project of the app, and the build of its handler.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use tokio::process::Command;

/// The package in the app's folder.
#[derive(Debug)]
pub(crate) struct Project {
    /// Folder of `Cargo.toml`.
    pub root: PathBuf,
    /// Cargo's target directory.
    pub target: PathBuf,
    /// The folders of the packages.
    pub packages: Vec<PathBuf>,
    this: Option<CargoTarget>,
    /// The programs that may be linked dynamically, each with its feature for that.
    dynamic: Vec<(String, String)>,
}

/// The feature of an app by which its program takes the framework from a dynamic library. The linker is done in
/// a fraction of the time then.
const DYNAMIC_LINKING: &str = "dynamic-linking";

/// The handler, built.
#[derive(Debug, Default)]
pub(crate) struct Built {
    /// Its executable.
    pub executable: PathBuf,
    /// The dynamic libraries that it takes from the build.
    pub libraries: Vec<PathBuf>,
}

/// The ways to build the handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildMode {
    /// With the profile `dev`.
    Dev,
    /// With the profile `dev`, again and again: with [`DYNAMIC_LINKING`] where the app has it.
    Watched,
    /// With the profile `release`.
    Release,
}

#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<CargoPackage>,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct CargoPackage {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<CargoTarget>,
    features: BTreeMap<String, Vec<String>>,
}

/// A line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    executable: Option<PathBuf>,
    target: Option<CargoTarget>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct CargoTarget {
    name: String,
    kind: Vec<String>,
}

impl CargoTarget {
    fn is(&self, kind: &str) -> bool {
        self.kind.iter().any(|name| name == kind)
    }
}

impl CargoPackage {
    /// Returns the programs that may be linked dynamically, each with its feature for that.
    fn dynamic(&self) -> impl Iterator<Item = (String, String)> {
        let has_feature = self.features.contains_key(DYNAMIC_LINKING);
        let programs = self.targets.iter().filter(move |target| has_feature && target.is("bin"));
        programs.map(|target| (target.name.clone(), format!("{}/{DYNAMIC_LINKING}", self.name)))
    }
}

impl Project {
    /// Returns the root of the workspace in which `cargo local` was started.
    pub(crate) async fn find_root() -> anyhow::Result<PathBuf> {
        let output = Command::new(cargo())
            .args(["locate-project", "--workspace", "--message-format", "plain"])
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .output()
            .await
            .context("cargo cannot be run")?;
        let manifest = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim_end());
        match manifest.parent() {
            Some(root) if output.status.success() => Ok(root.to_owned()),
            _ => bail!("there is no Cargo.toml here or above: start in the app, or give --app"),
        }
    }

    /// Reads the project in a folder.
    pub(crate) async fn read(root: &Path) -> anyhow::Result<Self> {
        let output = Command::new(cargo())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(root)
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .output()
            .await
            .context("cargo cannot be run")?;
        if !output.status.success() {
            bail!("{} cannot be read by cargo", root.join("Cargo.toml").display());
        }
        let metadata: CargoMetadata =
            serde_json::from_slice(&output.stdout).context("cargo metadata has another shape")?;
        let folders = metadata.packages.iter().filter_map(|package| package.manifest_path.parent());
        let packages = folders.map(Path::to_owned).collect();
        let dynamic = metadata.packages.iter().flat_map(CargoPackage::dynamic).collect();
        let mut targets = metadata.packages.into_iter().flat_map(|package| package.targets);
        let this = this().and_then(|name| {
            targets.find(|target| target.name == name && (target.is("bin") || target.is("example")))
        });
        Ok(Self {
            root: root.to_owned(),
            target: metadata.target_directory,
            packages,
            this,
            dynamic,
        })
    }

    /// Builds the handler, whose executable is `name`.
    pub(crate) async fn build(&self, name: &str, mode: BuildMode) -> anyhow::Result<Built> {
        let mut command = Command::new(cargo());
        // Without `-p`, so that the build has the features of all default members.
        command.args(["build", "--message-format=json-render-diagnostics", "--bin", name]);
        // If the project has this program too, one build makes both: they share one set of features,
        // and nothing is built twice.
        if let Some(this) = &self.this {
            command.args([if this.is("bin") { "--bin" } else { "--example" }, &this.name]);
        }
        match mode {
            BuildMode::Dev => {}
            BuildMode::Watched => {
                let feature = self.dynamic.iter().find(|(program, _)| program == name);
                command.args(feature.iter().flat_map(|(_, feature)| ["--features", feature]));
            }
            BuildMode::Release => {
                command.arg("--release");
            }
        }
        let output = command
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .context("cargo cannot be run")?
            .wait_with_output()
            .await?;
        if !output.status.success() {
            bail!("the handler does not build: see the compiler's errors above");
        }
        let mut built = Built::default();
        let lines = output.stdout.split(|byte| *byte == b'\n');
        for message in lines.filter_map(|line| serde_json::from_slice::<Message>(line).ok()) {
            match (message.target, message.executable) {
                (Some(target), Some(executable)) if target.name == name && target.is("bin") => {
                    built.executable = executable;
                }
                (Some(target), _) if target.is("dylib") => {
                    built.libraries.extend(message.filenames);
                }
                _ => {}
            }
        }
        let is_missing = built.executable.as_os_str().is_empty();
        ensure!(
            !is_missing,
            "the build makes no executable {name:?}, which host.json names as \
             customHandler.description.defaultExecutablePath"
        );
        Ok(built)
    }
}

/// Returns the name of this program.
fn this() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    Some(path.file_stem()?.to_string_lossy().into_owned())
}

/// Returns the cargo that started this process, so that the toolchain is the same.
fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
