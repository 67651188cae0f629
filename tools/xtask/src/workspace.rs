//! The packages of the workspace, as Cargo knows them.

use std::{path::PathBuf, process::Command};

use serde::Deserialize;

use crate::tree;

/// All packages of the workspace.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<WorkspacePackage>,
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
}

/// A package with its crates.
#[derive(Deserialize)]
pub(crate) struct WorkspacePackage {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) targets: Vec<CrateTarget>,
}

/// A library or a program, which is one crate.
#[derive(Deserialize)]
pub(crate) struct CrateTarget {
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

impl Workspace {
    /// Reads the workspace of the current directory.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut metadata = Command::new(env!("CARGO"));
        metadata.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
        Ok(serde_json::from_slice(&tree::run(&mut metadata)?.stdout)?)
    }
}
