//! The requirements of an executable on the system that runs it.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, bail, ensure};
use object::{
    Endianness,
    elf::FileHeader64,
    read::elf::{FileHeader, SectionHeader},
};

/// A version of glibc: its first two numbers.
pub(crate) type GlibcVersion = (u32, u32);

/// The libraries of glibc itself, and libgcc_s, which every image with glibc has.
const IMAGE_LIBRARIES: [&str; 7] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
];

/// Checks that a system with this glibc and nothing else can run the executable. Returns the newest glibc of its
/// symbols and its shared libraries, as a text.
pub(crate) fn check(executable: &Path, system: GlibcVersion) -> anyhow::Result<String> {
    let what = || format!("{} cannot be read", executable.display());
    let data = fs::read(executable).with_context(what)?;
    let (libraries, glibc) = needs(&data).with_context(what)?;
    check_needs(&libraries, glibc, system)?;
    let libraries: Vec<_> = libraries.into_iter().collect();
    Ok(format!("needs glibc {}.{} ({})", glibc.0, glibc.1, libraries.join(", ")))
}

/// Returns the shared libraries of an executable, and the newest glibc of its symbols.
fn needs(data: &[u8]) -> anyhow::Result<(BTreeSet<String>, GlibcVersion)> {
    let elf = FileHeader64::<Endianness>::parse(data)?;
    let endian = elf.endian()?;
    let sections = elf.sections(endian, data)?;
    let (needed, strings) = sections
        .gnu_verneed(endian, data)?
        .context("it has no table of needed versions, so it is not linked with glibc")?;
    let strings = sections.section(strings)?.strings(endian, data)?.unwrap_or_default();
    let mut libraries = BTreeSet::new();
    let mut newest = (0, 0);
    for library in needed {
        let (library, versions) = library?;
        let name = String::from_utf8_lossy(library.file(endian, strings)?);
        libraries.insert(name.into_owned());
        for version in versions {
            let version = String::from_utf8_lossy(version?.name(endian, strings)?);
            if let Some(glibc) = version.strip_prefix("GLIBC_") {
                let glibc = parse(glibc)
                    .with_context(|| format!("it needs {version}, which has no number"))?;
                newest = newest.max(glibc);
            }
        }
    }
    Ok((libraries, newest))
}

fn check_needs(
    libraries: &BTreeSet<String>,
    glibc: GlibcVersion,
    system: GlibcVersion,
) -> anyhow::Result<()> {
    if let Some(other) = libraries.iter().find(|name| !IMAGE_LIBRARIES.contains(&name.as_str())) {
        bail!("the handler needs {other}, which the Functions image may not have");
    }
    let ((major, minor), (first, second)) = (glibc, system);
    ensure!(
        glibc <= system,
        "the handler needs glibc {major}.{minor}, newer than {first}.{second}"
    );
    Ok(())
}

/// Parses `2.31`; of `2.2.5` the first two numbers. A version without a number is a feature of a new glibc.
fn parse(text: &str) -> Option<GlibcVersion> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::{check_needs, needs, parse};

    #[test]
    fn a_newer_glibc_and_a_library_that_the_image_may_not_have_are_named() {
        let data = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let (mut libraries, glibc) = needs(&data).unwrap();
        assert!(libraries.contains("libc.so.6"), "{libraries:?}");
        check_needs(&libraries, glibc, glibc).unwrap();
        let older = (glibc.0, glibc.1 - 1);
        let error = check_needs(&libraries, glibc, older).unwrap_err().to_string();
        assert!(error.contains(&format!("newer than {}.{}", older.0, older.1)), "{error}");
        libraries.insert("libssl.so.3".into());
        let error = check_needs(&libraries, glibc, glibc).unwrap_err().to_string();
        assert!(error.contains("libssl.so.3"), "{error}");
    }

    #[test]
    fn versions_compare_by_number_and_features_have_none() {
        assert!(parse("2.4") < parse("2.31"));
        assert_eq!((parse("2.2.5"), parse("ABI_DT_RELR")), (Some((2, 2)), None));
    }
}
