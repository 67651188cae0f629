//! The folder that the Functions host takes: `host.json`, the executable, one folder for each
//! function with its `function.json` alone.

use std::path::Path;
use std::{fs, io};

use anyhow::Context as _;

use super::AppLayout;

/// Writes the folder `stage` anew, with the app and this executable.
///
/// # Errors
/// When a file cannot be read or written.
pub fn stage(app: &AppLayout, executable: &Path, stage: &Path) -> anyhow::Result<()> {
    let what = || format!("the app cannot be staged in {}", stage.display());
    if stage.exists() {
        fs::remove_dir_all(stage).with_context(what)?;
    }
    fs::create_dir_all(stage).with_context(what)?;
    fs::copy(app.root.join("host.json"), stage.join("host.json")).with_context(what)?;
    // Core Tools leaves these files out when it publishes the folder.
    let ignored = app.root.join(".funcignore");
    if ignored.is_file() {
        fs::copy(ignored, stage.join(".funcignore")).with_context(what)?;
    }
    for (name, folder) in &app.functions {
        let function = stage.join(name);
        fs::create_dir(&function).with_context(what)?;
        fs::copy(folder.join("function.json"), function.join("function.json"))
            .with_context(what)?;
    }
    let mut to = stage.join(&app.executable);
    if let Some(extension) = executable.extension() {
        to.set_extension(extension);
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(what)?;
    }
    link(executable, &to).with_context(what)
}

/// Links a file that was built, or copies it to another file system. A link is fast, and Cargo writes a new file
/// at its next build, so this one never changes.
///
/// # Errors
/// When the file cannot be written.
pub fn link(built: &Path, to: &Path) -> io::Result<()> {
    if fs::hard_link(built, to).is_err() {
        fs::copy(built, to)?;
    }
    Ok(())
}
