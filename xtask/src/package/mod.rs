//! `cargo xtask package`: the app as it is deployed, in `target/functionapp` and
//! `target/functionapp.zip`.

mod elf;
mod tools;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, ensure};
use clap::Args;
use serde::Deserialize;
use tributary_package::{Compression, Layout, pack, stage};

use elf::GlibcVersion;
use tools::Tools;

/// Flex Consumption runs Linux on x64 and nothing else, so there is no choice to offer.
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// The oldest glibc that a Functions image had (Debian 11); newer ones run the same file.
const GLIBC: GlibcVersion = GlibcVersion(2, 31);
/// An instance loads the whole folder before it answers its first request.
const SIZE_LIMIT: u64 = 24_000_000;

#[derive(Args)]
pub(crate) struct Options {
    /// Install what is missing: the compiler's target with rustup, and cargo-zigbuild with zig
    /// from PyPI into target/tools.
    #[arg(long)]
    install_tools: bool,

    /// Unpack the zip and run it under the stand-in for the Functions host, with the test that
    /// `cargo test` runs on an unoptimised handler.
    #[arg(long)]
    verify: bool,
}

#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
}

pub(crate) fn package(options: &Options) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent")?;
    let out = root.join("target");
    let layout = Layout::read(root)?;
    let tools = Tools::find(root, &out.join("tools"), options.install_tools)?;

    let executable = build(root, &tools, &layout.executable)?;
    let needs = elf::Needs::read(&executable)?;
    needs.check(GLIBC)?;

    let folder = out.join("functionapp");
    stage(&layout, &executable, &folder)?;
    let zip = out.join("functionapp.zip");
    pack(&folder, &layout.executable, &zip, Compression::Deflate)?;

    let handler = fs::metadata(&executable)?.len();
    let unpacked = size(&folder)?;
    let n_functions = layout.functions.len();
    println!("target/functionapp      {}  {n_functions} functions", megabytes(unpacked));
    println!("  {:<21} {}  {needs}", layout.executable, megabytes(handler));
    println!("target/functionapp.zip  {}", megabytes(fs::metadata(&zip)?.len()));
    ensure!(
        unpacked <= SIZE_LIMIT,
        "target/functionapp is larger than {}: find what has grown, for example with \
         `cargo bloat --profile deployed --crates`",
        megabytes(SIZE_LIMIT)
    );
    if options.verify { verify(&zip) } else { Ok(()) }
}

fn build(root: &Path, tools: &Tools, name: &str) -> anyhow::Result<PathBuf> {
    let target = format!("{TARGET}.{}.{}", GLIBC.0, GLIBC.1);
    eprintln!("cargo zigbuild --profile deployed --bin {name} --target {target}");
    let status = tools
        .cargo_zigbuild()
        .args(["--profile", "deployed", "--bin", name, "--target", &target])
        .current_dir(root)
        .status()
        .context("cargo-zigbuild cannot be started")?;
    ensure!(status.success(), "the handler does not build: see what the compiler says above");

    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cargo cannot be started")?;
    let metadata: Metadata =
        serde_json::from_slice(&metadata.stdout).context("cargo metadata has another shape")?;
    Ok(metadata.target_directory.join(TARGET).join("deployed").join(name))
}

fn verify(zip: &Path) -> anyhow::Result<()> {
    let test = "process::the_package_serves_the_blog_and_keeps_its_copies";
    eprintln!("TRIBUTARY_PACKAGE={} cargo test --test it {test}", zip.display());
    let output = Command::new(env!("CARGO"))
        .args(["test", "--test", "it", "--", "--exact", test])
        .env("TRIBUTARY_PACKAGE", zip)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "the package does not do its work:\n{text}");
    // A test that was renamed would pass by not being there.
    ensure!(text.contains("1 passed"), "there is no test {test}");
    println!("target/functionapp.zip  runs under the local host");
    Ok(())
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

/// In millions of bytes, with one digit after the point.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{:>4}.{} MB", tenths / 10, tenths % 10)
}
