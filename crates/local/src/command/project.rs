//! The Cargo project of the app, and the build of its handler.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use tokio::process::Command;

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

#[derive(Debug, Default)]
pub(crate) struct Built {
    /// Its executable.
    pub executable: PathBuf,
    /// The dynamic libraries that it takes from the build.
    pub libraries: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildMode {
    Dev,
    /// With the profile `dev`, again and again: with [`DYNAMIC_LINKING`] where the app has it.
    Watched,
    Release,
}

#[derive(Deserialize)]
struct CargoMetadata {
    packages: Vec<CargoPackage>,
    target_directory: PathBuf,
    workspace_root: PathBuf,
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
    fn dynamic(&self) -> impl Iterator<Item = (String, String)> {
        let has_feature = self.features.contains_key(DYNAMIC_LINKING);
        let programs = self.targets.iter().filter(move |target| has_feature && target.is("bin"));
        programs.map(|target| (target.name.clone(), format!("{}/{DYNAMIC_LINKING}", self.name)))
    }
}

impl Project {
    pub(crate) async fn read(folder: &Path) -> anyhow::Result<Self> {
        let output = Command::new(cargo())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(folder)
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .output()
            .await
            .context("cargo cannot be run")?;
        ensure!(
            output.status.success(),
            "cargo cannot read a project in {}: start in the app, or give --app",
            folder.display()
        );
        let metadata: CargoMetadata =
            serde_json::from_slice(&output.stdout).context("cargo metadata has another shape")?;
        let folders = metadata.packages.iter().filter_map(|package| package.manifest_path.parent());
        let packages = folders.map(Path::to_owned).collect();
        let dynamic = metadata.packages.iter().flat_map(CargoPackage::dynamic).collect();
        let mut targets = metadata.packages.into_iter().flat_map(|package| package.targets);
        let this = std::env::current_exe().ok();
        let this = this.as_deref().and_then(Path::file_stem).and_then(|name| {
            targets
                .find(|target| *target.name == *name && (target.is("bin") || target.is("example")))
        });
        let CargoMetadata { workspace_root: root, target_directory: target, .. } = metadata;
        Ok(Self { root, target, packages, this, dynamic })
    }

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
        ensure!(
            !built.executable.as_os_str().is_empty(),
            "the build makes no executable {name:?}, which host.json names as \
             customHandler.description.defaultExecutablePath"
        );
        Ok(built)
    }
}

/// Returns the cargo that started this process, so that the toolchain is the same.
fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
