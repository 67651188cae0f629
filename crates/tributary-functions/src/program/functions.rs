//! The command `functions`.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;

use crate::app::Declaration;

const FILE: &str = "function.json";

/// Writes functions/ for the Functions host: a folder with function.json for each function
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Change nothing, and fail if a file would change
    #[arg(long)]
    check: bool,
    /// The folder of the functions
    #[arg(long, value_name = "DIR", default_value = "functions")]
    folder: PathBuf,
}

/// A file that differs from the app's declaration of its function, or cannot be accessed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Difference {
    #[error("{} differs from the table of functions. Run this command without --check.", .0.display())]
    File(PathBuf),
    #[error("{}: {error}", .path.display())]
    NoAccess { path: PathBuf, error: io::Error },
}

/// Writes each file that differs, and removes the folders of functions that the app does not have. Returns
/// the errors. With `--check`, changes nothing and returns an error for each difference.
pub(super) fn write(declarations: &[Declaration], arguments: &Arguments) -> Vec<Difference> {
    let Arguments { check, folder } = arguments;
    let names: BTreeSet<&str> = declarations.iter().map(|one| one.name).collect();
    let declared = declarations.iter().map(|declaration| declared(declaration, folder, *check));
    let superfluous = match superfluous(folder, &names) {
        Ok(folders) => folders,
        Err(error) => return vec![Difference::NoAccess { path: folder.clone(), error }],
    };
    let superfluous = superfluous.into_iter().map(|path| match check {
        true => Err(Difference::File(path)),
        false => remove(&path).map_err(|error| Difference::NoAccess { path, error }),
    });
    declared.chain(superfluous).filter_map(Result::err).collect()
}

fn declared(declaration: &Declaration, folder: &Path, check: bool) -> Result<(), Difference> {
    let folder = folder.join(declaration.name);
    let path = folder.join(FILE);
    let written = || {
        let text = declaration.function_json()?;
        let is_same = fs::read_to_string(&path).is_ok_and(|is| is == text);
        if !is_same && !check {
            fs::create_dir_all(&folder)?;
            fs::write(&path, text)?;
        }
        io::Result::Ok(is_same || !check)
    };
    match written() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Difference::File(path)),
        Err(error) => Err(Difference::NoAccess { path, error }),
    }
}

fn superfluous(folder: &Path, names: &BTreeSet<&str>) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.exists() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let is_known = entry.file_name().to_str().is_some_and(|name| names.contains(name));
            if !is_known && entry.path().join(FILE).exists() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn remove(folder: &Path) -> io::Result<()> {
    fs::remove_file(folder.join(FILE))?;
    fs::remove_dir(folder)
}
