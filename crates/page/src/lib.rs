#![doc = include_str!("../README.md")]

use std::{
    env,
    fmt::Write as _,
    fs,
    hash::Hasher as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use flate2::{Compression, GzBuilder};
use twox_hash::XxHash64;

/// The text in `index.html` that the version replaces.
const VERSION: &str = "{version}";

/// The file that an app answers at `/`.
const INDEX: &str = "index.html";

/// Media types by the ends of names.
const MEDIA_TYPES: [(&str, &str); 11] = [
    ("css", "text/css; charset=utf-8"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
];

/// A file of a page.
struct SourceFile {
    name: String,
    media_type: &'static str,
    content: Content,
}

/// The content of a file.
enum Content {
    Plain(Vec<u8>),
    /// Compressed with gzip.
    Gzip(Vec<u8>),
}

/// The files of a page.
pub struct PageFiles(Vec<SourceFile>);

/// Compresses the files of a folder, and writes `page.rs` into the folder of the build script's outputs. Cargo
/// runs the script again after a change in the folder.
///
/// # Errors
///
/// If the folder has no `index.html`, or another folder, or a file of an unknown type, or cannot be read.
pub fn embed(folder: impl AsRef<Path>) -> io::Result<()> {
    PageFiles::read(folder)?.embed("page")
}

impl PageFiles {
    /// Reads the files of a folder. Cargo runs the build script again after a change in the folder.
    ///
    /// # Errors
    ///
    /// If the folder has no `index.html`, or another folder, or a file of an unknown type, or cannot be read.
    pub fn read(folder: impl AsRef<Path>) -> io::Result<Self> {
        let folder = folder.as_ref();
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            if path.is_dir() {
                return Err(fault(&path, "is a folder: a page has files only"));
            }
            files.push(SourceFile::new(
                &name.unwrap_or_default(),
                Content::Plain(fs::read(&path)?),
            )?);
        }
        if !files.iter().any(|file| file.name == INDEX) {
            return Err(fault(folder, "has no index.html"));
        }
        Ok(Self(files))
    }

    /// Adds a file whose content is compressed with gzip.
    ///
    /// # Errors
    ///
    /// If its type is unknown.
    pub fn with_gzip(mut self, name: &str, content: Vec<u8>) -> io::Result<Self> {
        self.0.push(SourceFile::new(name, Content::Gzip(content))?);
        Ok(self)
    }

    /// Writes `<name>.rs`, and the compressed files, into the folder of the build script's outputs.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn embed(self, name: &str) -> io::Result<()> {
        let out = env::var_os("OUT_DIR").map(PathBuf::from);
        let out =
            out.ok_or_else(|| io::Error::other("OUT_DIR is not set: run this in build.rs"))?;
        self.write(name, &out)
    }

    fn write(mut self, page: &str, out: &Path) -> io::Result<()> {
        self.0.sort_by(|one, other| one.name.cmp(&other.name));
        let version = version(&self.0);
        let compressed = out.join(page);
        fs::create_dir_all(&compressed)?;
        let mut source = format!("::tributary_functions::page::WebPage::new({version:?}, &[\n");
        for SourceFile { name, media_type, content } in self.0 {
            let content = match content {
                Content::Gzip(content) => content,
                Content::Plain(text) if name == INDEX => {
                    gzip(String::from_utf8_lossy(&text).replace(VERSION, &version).as_bytes())?
                }
                Content::Plain(content) => gzip(&content)?,
            };
            let path = compressed.join(format!("{name}.gz"));
            fs::write(&path, content)?;
            let path = path.to_str().ok_or_else(|| fault(&path, "is no UTF-8"))?;
            // A write to a String cannot fail.
            let _ = writeln!(
                source,
                "    ::tributary_functions::page::PageFile {{ name: {name:?}, media_type: \
                 {media_type:?}, gzip: include_bytes!({path:?}) }},"
            );
        }
        source.push_str("])\n");
        fs::write(out.join(format!("{page}.rs")), source)
    }
}

impl SourceFile {
    fn new(name: &str, content: Content) -> io::Result<Self> {
        let end = name.rsplit_once('.').map_or("", |(_, end)| end);
        let known = MEDIA_TYPES.iter().find(|(known, _)| *known == end);
        let (_, media_type) = known.ok_or_else(|| fault(Path::new(name), "has an unknown type"))?;
        Ok(Self { name: name.to_owned(), media_type, content })
    }
}

/// Returns the hash of all names and contents.
fn version(files: &[SourceFile]) -> String {
    let mut hash = XxHash64::with_seed(0);
    for SourceFile { name, content, .. } in files {
        let (Content::Plain(content) | Content::Gzip(content)) = content;
        for part in [name.as_bytes(), content] {
            hash.write(&(part.len() as u64).to_le_bytes());
            hash.write(part);
        }
    }
    format!("{:016x}", hash.finish())
}

/// Compresses a content; the same content gives the same bytes.
fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

fn fault(path: &Path, what: &str) -> io::Error {
    io::Error::other(format!("{} {what}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends where what it needs is not there")]

    use std::{io::Read as _, process};

    use flate2::read::GzDecoder;

    use super::*;

    /// A folder of its own for a test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = env::temp_dir().join(format!("tributary-page-{}-{name}", process::id()));
            for inner in ["page", "out"] {
                fs::create_dir_all(path.join(inner)).unwrap();
            }
            Self(path)
        }

        fn has(&self, name: &str, content: &str) {
            fs::write(self.0.join("page").join(name), content).unwrap();
        }

        fn write(&self) -> io::Result<String> {
            PageFiles::read(self.0.join("page"))?.write("page", &self.0.join("out"))?;
            fs::read_to_string(self.0.join("out/page.rs"))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn each_change_of_a_file_changes_the_version_which_the_index_names() {
        let folder = Folder::new("version");
        folder.has("index.html", "<script src=\"page/{version}/main.js\">");
        folder.has("main.js", "1");
        let first = folder.write().unwrap();
        assert_eq!(folder.write().unwrap(), first);
        let version = first.split('"').nth(1).unwrap().to_owned();
        let mut index = String::new();
        let compressed = fs::read(folder.0.join("out/page/index.html.gz")).unwrap();
        GzDecoder::new(compressed.as_slice()).read_to_string(&mut index).unwrap();
        assert_eq!(index, format!("<script src=\"page/{version}/main.js\">"));
        folder.has("main.js", "2");
        assert!(!folder.write().unwrap().contains(&version));
    }

    #[test]
    fn a_folder_that_is_no_page_is_an_error() {
        let folder = Folder::new("faults");
        folder.has("main.js", "");
        assert!(folder.write().unwrap_err().to_string().ends_with("has no index.html"));
        folder.has("page.exe", "");
        assert!(folder.write().unwrap_err().to_string().ends_with("has an unknown type"));
    }
}
