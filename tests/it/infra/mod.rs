//! The files of `infra/`, read without Azure: syntax, parameters, containers, alerts, deployment.
//! `.ci/configuration/run.sh` checks types and rules, and so does the Bicep compiler if there is
//! one.

mod alerts;
mod bicep;
mod containers;
mod deployment;
mod indexes;
mod parameters;

use std::{fs, path::PathBuf};

use bicep::{Bicep, bicep_files};

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_bicep_file_can_be_parsed() {
    let files = bicep_files();
    assert!(files.len() > 10, "infra/ has moved");
    for file in files {
        assert_eq!(Bicep::read(&file).syntax_errors(), Vec::<String>::new());
    }
}
