//! The requirements of an executable on the system that runs it.

use std::{
    collections::BTreeSet,
    fmt::{self, Display},
    fs,
    path::Path,
};

use anyhow::{Context, bail, ensure};
use object::{
    Endianness,
    elf::FileHeader64,
    read::elf::{FileHeader, SectionHeader},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GlibcVersion(pub u32, pub u32);

/// The shared libraries of an executable, and the newest glibc of its symbols.
#[derive(Debug)]
pub(crate) struct ExecutableNeeds {
    libraries: BTreeSet<String>,
    glibc: GlibcVersion,
}

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

impl ExecutableNeeds {
    /// Reads the table of needed versions of an executable.
    pub(crate) fn read(executable: &Path) -> anyhow::Result<Self> {
        let what = || format!("{} cannot be read", executable.display());
        let data = fs::read(executable).with_context(what)?;
        Self::parse(&data).with_context(what)
    }

    fn parse(data: &[u8]) -> anyhow::Result<Self> {
        let elf = FileHeader64::<Endianness>::parse(data)?;
        let endian = elf.endian()?;
        let sections = elf.sections(endian, data)?;
        let (needed, strings) = sections
            .gnu_verneed(endian, data)?
            .context("it has no table of needed versions, so it is not linked with glibc")?;
        let strings = sections.section(strings)?.strings(endian, data)?.unwrap_or_default();

        let mut needs = Self { libraries: BTreeSet::new(), glibc: GlibcVersion(0, 0) };
        for library in needed {
            let (library, versions) = library?;
            let name = String::from_utf8_lossy(library.file(endian, strings)?);
            needs.libraries.insert(name.into_owned());
            for version in versions {
                let version = String::from_utf8_lossy(version?.name(endian, strings)?);
                if let Some(glibc) = version.strip_prefix("GLIBC_") {
                    let glibc = GlibcVersion::parse(glibc)
                        .with_context(|| format!("it needs {version}, which has no number"))?;
                    needs.glibc = needs.glibc.max(glibc);
                }
            }
        }
        Ok(needs)
    }

    /// Checks that a system with this glibc and nothing else can run the executable.
    pub(crate) fn check(&self, system: GlibcVersion) -> anyhow::Result<()> {
        if let Some(other) =
            self.libraries.iter().find(|name| !IMAGE_LIBRARIES.contains(&name.as_str()))
        {
            bail!("the handler needs {other}, which the Functions image may not have");
        }
        ensure!(
            self.glibc <= system,
            "the handler needs glibc {}, newer than {system}",
            self.glibc
        );
        Ok(())
    }
}

impl GlibcVersion {
    /// Parses `2.31`; of `2.2.5` the first two numbers. A version without a number is a feature of a new glibc.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.').map(str::parse);
        Some(Self(numbers.next()?.ok()?, numbers.next()?.ok()?))
    }
}

impl Display for GlibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl Display for ExecutableNeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let libraries: Vec<&str> = self.libraries.iter().map(String::as_str).collect();
        write!(f, "needs glibc {} ({})", self.glibc, libraries.join(", "))
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::{ExecutableNeeds, GlibcVersion};

    #[test]
    fn an_executable_of_this_system_needs_no_more_than_this_system_and_no_less_than_the_first() {
        let needs = ExecutableNeeds::read(&std::env::current_exe().unwrap()).unwrap();
        assert!(needs.libraries.contains("libc.so.6"), "{needs}");
        needs.check(needs.glibc).unwrap();
        let older = GlibcVersion(needs.glibc.0, needs.glibc.1 - 1);
        let error = needs.check(older).unwrap_err().to_string();
        assert_eq!(error, format!("the handler needs glibc {}, newer than {older}", needs.glibc));
    }

    #[test]
    fn a_library_that_the_image_may_not_have_is_named() {
        let mut needs = ExecutableNeeds::read(&std::env::current_exe().unwrap()).unwrap();
        needs.libraries.insert("libssl.so.3".into());
        let error = needs.check(needs.glibc).unwrap_err().to_string();
        assert!(error.contains("libssl.so.3"), "{error}");
    }

    #[test]
    fn versions_compare_by_number_and_features_have_none() {
        assert!(GlibcVersion::parse("2.4") < GlibcVersion::parse("2.31"));
        assert_eq!(GlibcVersion::parse("2.2.5"), Some(GlibcVersion(2, 2)));
        assert_eq!(GlibcVersion::parse("ABI_DT_RELR"), None);
    }
}
