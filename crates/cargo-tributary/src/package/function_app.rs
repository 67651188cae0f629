//! The deployed app: its handler built for the Functions images, in a folder and in a zip.

use std::{
    fmt::{self, Display},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{
    AppLayout, ZipCompression,
    elf::{self, GlibcVersion},
    pack, stage,
    tools::{IMAGE_TARGET, cargo_zigbuild},
};

/// The oldest glibc of a Functions image (Debian 11). Newer images run the same file.
const OLDEST_IMAGE_GLIBC: GlibcVersion = (2, 31);

/// A packaged app. `Display` writes its files with their sizes.
#[derive(Debug)]
pub struct FunctionApp {
    /// The folder, for `func azure functionapp publish --no-build`.
    pub folder: PathBuf,
    /// The folder as a zip.
    pub zip: PathBuf,
    /// The size of all files in the folder. An instance loads them before it answers its first request.
    pub bytes: u64,
    executable: String,
    executable_bytes: u64,
    needs: String,
    n_functions: usize,
    zip_bytes: u64,
}

/// Builds the app in the folder `root` with a profile of Cargo, and writes `target/functionapp` and
/// `target/functionapp.zip` there. Installs missing tools if `install_tools`: the compiler's target with rustup,
/// and cargo-zigbuild with zig from PyPI into `target/tools`.
///
/// # Errors
/// When a tool is missing, the handler does not build, it needs a newer glibc than the Functions images
/// have, or a file cannot be written.
pub fn build(root: &Path, profile: &str, install_tools: bool) -> anyhow::Result<FunctionApp> {
    // cargo-zigbuild starts zig in the folder of each crate that it links.
    let root = &std::path::absolute(root)?;
    let layout = AppLayout::read(root)?;
    let out = root.join("target");
    let zigbuild = cargo_zigbuild(&out.join("tools"), install_tools)?;
    let executable = compile(root, zigbuild, &layout.executable, profile)?;
    let needs = elf::check(&executable, OLDEST_IMAGE_GLIBC)?;

    let folder = out.join("functionapp");
    stage(&layout, &executable, &folder)?;
    let zip = out.join("functionapp.zip");
    pack(&folder, &layout.executable, &zip, ZipCompression::Deflate)?;
    Ok(FunctionApp {
        bytes: size(&folder)?,
        executable_bytes: fs::metadata(&executable)?.len(),
        zip_bytes: fs::metadata(&zip)?.len(),
        n_functions: layout.functions.len(),
        executable: layout.executable,
        needs,
        folder,
        zip,
    })
}

fn compile(
    root: &Path,
    mut zigbuild: Command,
    name: &str,
    profile: &str,
) -> anyhow::Result<PathBuf> {
    let triple = format!("{IMAGE_TARGET}.{}.{}", OLDEST_IMAGE_GLIBC.0, OLDEST_IMAGE_GLIBC.1);
    eprintln!("cargo zigbuild --profile {profile} --bin {name} --target {triple}");
    let status = zigbuild
        .args(["--profile", profile, "--bin", name, "--target", &triple])
        .current_dir(root)
        .status()
        .context("cargo-zigbuild cannot be started")?;
    ensure!(status.success(), "the handler does not build: see what the compiler says above");

    // The cargo that started this process, so that the toolchain is the same.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let metadata = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo cannot be started")?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let target = metadata["target_directory"].as_str();
    let target = Path::new(target.context("cargo metadata has another shape")?);
    // The folder of the profile `dev` has an older name.
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target.join(IMAGE_TARGET).join(folder).join(name))
}

fn size(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { size(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

impl Display for FunctionApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { executable, needs, n_functions, .. } = self;
        let [folder, handler, zip] =
            [self.bytes, self.executable_bytes, self.zip_bytes].map(megabytes);
        writeln!(f, "target/functionapp      {folder}  {n_functions} functions")?;
        writeln!(f, "  {executable:<21} {handler}  {needs}")?;
        write!(f, "target/functionapp.zip  {zip}")
    }
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{:>4}.{} MB", tenths / 10, tenths % 10)
}
