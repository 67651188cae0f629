//! `cargo xtask package`: the app as it is deployed, in `target/functionapp` and
//! `target/functionapp.zip`.

use std::{path::Path, process::Command};

use anyhow::{Context, ensure};
use clap::Args;

/// The size of the folder at most: an instance loads it before it answers its first request.
const MAX_BYTES: u64 = 25_000_000;

#[derive(Args)]
pub(crate) struct PackageOptions {
    /// Install missing tools: the compiler's target with rustup, and cargo-zigbuild with zig from PyPI
    /// into target/tools.
    #[arg(long)]
    install_tools: bool,

    /// Unpack the zip and run it under the stand-in for the Functions host, with the test that
    /// `cargo test` runs on an unoptimised handler.
    #[arg(long)]
    verify: bool,
}

pub(crate) fn package(options: &PackageOptions) -> anyhow::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .context("xtask is in no workspace")?;
    let app = cargo_tributary::package::build(root, "deployed", options.install_tools)?;
    println!("{app}");
    ensure!(
        app.bytes <= MAX_BYTES,
        "target/functionapp is larger than {} MB: find what has grown, for example with \
         `cargo bloat --profile deployed --crates`",
        MAX_BYTES / 1_000_000
    );
    if options.verify { verify(&app.zip) } else { Ok(()) }
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
    ensure!(output.status.success(), "the test of the package failed:\n{text}");
    // A renamed test would pass without running.
    ensure!(text.contains("1 passed"), "there is no test {test}");
    println!("target/functionapp.zip  runs under the local host");
    Ok(())
}
