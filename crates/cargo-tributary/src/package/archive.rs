//! The zip that is deployed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// The compression of the files of a zip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZipCompression {
    /// Deflate.
    Deflate,
    /// No compression: fast, for tests.
    None,
}

/// Packs a staged folder. The executable gets the mode 0755 and every other file 0644, with any modes
/// here, so that a zip from Windows runs too. The same files give the same bytes: names are sorted, and
/// times are left out. Files of the folder's `.funcignore` are left out, as by Core Tools, and so is
/// `.funcignore` itself.
///
/// # Errors
/// When a file cannot be read, `.funcignore` has an invalid pattern, or the zip cannot be written.
pub fn pack(
    folder: &Path,
    executable: &str,
    zip: &Path,
    compression: ZipCompression,
) -> anyhow::Result<()> {
    let what = || format!("{} cannot be packed as {}", folder.display(), zip.display());
    let mut files = Vec::new();
    find_files(folder, &mut files).with_context(what)?;
    let ignored = ignored(folder).with_context(what)?;
    let mut named = Vec::new();
    for file in files {
        if ignored.matched_path_or_any_parents(&file, false).is_ignore() {
            continue;
        }
        let name = file.strip_prefix(folder).with_context(what)?;
        // In a zip the names have slashes on every system.
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        named.push((parts.join("/"), file));
    }
    named.sort();

    let mut writer = ZipWriter::new(File::create(zip).with_context(what)?);
    for (name, file) in named {
        let mode = if name == executable { 0o755 } else { 0o644 };
        let options = SimpleFileOptions::default()
            .compression_method(match compression {
                ZipCompression::Deflate => CompressionMethod::Deflated,
                ZipCompression::None => CompressionMethod::Stored,
            })
            .last_modified_time(DateTime::default())
            .unix_permissions(mode);
        writer.start_file(name, options).with_context(what)?;
        let mut from = File::open(&file).with_context(what)?;
        io::copy(&mut from, &mut writer).with_context(what)?;
    }
    writer.finish().with_context(what)?;
    Ok(())
}

/// Unpacks a zip into a folder, with its modes.
///
/// # Errors
/// When the zip cannot be read, or a file cannot be written.
pub fn unpack(zip: &Path, folder: &Path) -> anyhow::Result<()> {
    let what = || format!("{} cannot be unpacked into {}", zip.display(), folder.display());
    let mut archive = ZipArchive::new(File::open(zip).with_context(what)?).with_context(what)?;
    archive.extract(folder).with_context(what)
}

/// Returns the patterns of `.funcignore`; none without the file.
fn ignored(folder: &Path) -> Result<Gitignore, ignore::Error> {
    let mut patterns = GitignoreBuilder::new(folder);
    patterns.add_line(None, "/.funcignore")?;
    let file = folder.join(".funcignore");
    if file.is_file()
        && let Some(error) = patterns.add(file)
    {
        return Err(error);
    }
    patterns.build()
}

fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find_files(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
