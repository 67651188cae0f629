//! The zip that is deployed.

use std::{fs::File, io, path::Path};

use anyhow::Context as _;
use ignore::WalkBuilder;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

const FUNCIGNORE: &str = ".funcignore";

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
    let walk = WalkBuilder::new(folder)
        .standard_filters(false)
        .add_custom_ignore_filename(FUNCIGNORE)
        .build();
    let mut named = Vec::new();
    for entry in walk {
        let entry = entry.with_context(what)?;
        if let Some(error) = entry.error() {
            return Err(error.clone()).with_context(what);
        }
        if entry.path().is_dir() || entry.file_name() == FUNCIGNORE {
            continue;
        }
        let name = entry.path().strip_prefix(folder).with_context(what)?;
        // In a zip the names have slashes on every system.
        let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
        named.push((parts.join("/"), entry.into_path()));
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
