//! The folder that the Functions host takes: `host.json`, the executable, one folder for each
//! function with its `function.json` alone.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tributary_local::host::FunctionApp;

/// Makes the folder anew under `target` and gives its path.
pub(crate) fn stage(
    root: &Path,
    app: &FunctionApp,
    executable: &Path,
    target: &Path,
) -> anyhow::Result<PathBuf> {
    let stage = target.join("functionapp-local");
    let what = || format!("the app cannot be staged in {}", stage.display());
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(what)?;
    }
    fs::create_dir_all(&stage).with_context(what)?;
    fs::copy(root.join("host.json"), stage.join("host.json")).with_context(what)?;
    for folder in app.folders() {
        let Some(name) = folder.file_name() else {
            continue;
        };
        let function = stage.join(name);
        fs::create_dir(&function).with_context(what)?;
        fs::copy(folder.join("function.json"), function.join("function.json"))
            .with_context(what)?;
    }
    let mut to = stage.join(&app.host().executable);
    if let Some(extension) = executable.extension() {
        to.set_extension(extension);
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(what)?;
    }
    // A link is at once; Cargo makes a new file at its next build, so this one stays as it is.
    if fs::hard_link(executable, &to).is_err() {
        fs::copy(executable, &to).with_context(what)?;
    }
    Ok(stage)
}
