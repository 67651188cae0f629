//! The tools of the build beside Rust: cargo-zigbuild, which links against any glibc with zig.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail, ensure};

/// The target of the build. Flex Consumption runs Linux on x64 alone, so there is no choice.
pub(crate) const IMAGE_TARGET: &str = "x86_64-unknown-linux-gnu";

/// The versions that are installed.
const PYTHON_REQUIREMENTS: &str = include_str!("requirements.txt");

/// The place of cargo-zigbuild.
pub(crate) enum BuildTools {
    /// On the `PATH`, with zig.
    Installed,
    /// In a virtual environment of Python in the target folder: its folder of programs.
    Own(PathBuf),
}

impl BuildTools {
    /// Finds the tools, or installs them into `folder`. The error says how to install them.
    pub(crate) fn find(folder: &Path, install: bool) -> anyhow::Result<Self> {
        find_target(install)?;
        // Written last, so it exists only after a complete installation.
        let installed = folder.join("requirements.txt");
        let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
        if fs::read_to_string(&installed).is_ok_and(|installed| installed == PYTHON_REQUIREMENTS) {
            return Ok(Self::Own(programs));
        }
        if install {
            let python = if cfg!(windows) { "python" } else { "python3" };
            run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
            let mut command = Command::new(programs.join("python"));
            run(command.args(pip).args(PYTHON_REQUIREMENTS.lines()))?;
            fs::write(&installed, PYTHON_REQUIREMENTS)?;
            return Ok(Self::Own(programs));
        }
        let version = Command::new("cargo-zigbuild").arg("--version").output();
        if version.is_ok_and(|output| output.status.success()) {
            return Ok(Self::Installed);
        }
        bail!(
            "cargo-zigbuild is missing. `--install-tools` installs it into target/tools; \
             `pip install cargo-zigbuild` for yourself, zig included"
        )
    }

    /// Returns the command `cargo-zigbuild zigbuild`.
    pub(crate) fn cargo_zigbuild(&self) -> Command {
        let Self::Own(programs) = self else {
            let mut command = Command::new("cargo-zigbuild");
            command.arg("zigbuild");
            return command;
        };
        let mut command = Command::new(programs.join("cargo-zigbuild"));
        command.arg("zigbuild").env("CARGO_ZIGBUILD_PYTHON_PATH", programs.join("python"));
        command
    }
}

/// Finds the standard library for the target, or installs it. Only on Linux x64 it comes with the toolchain.
fn find_target(install: bool) -> anyhow::Result<()> {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", IMAGE_TARGET])
        .output()
        .context("rustc cannot be started")?;
    if Path::new(String::from_utf8_lossy(&output.stdout).trim_end()).is_dir() {
        return Ok(());
    }
    ensure!(
        install,
        "the standard library for Linux is missing: `rustup target add {IMAGE_TARGET}`"
    );
    run(Command::new("rustup").args(["target", "add", IMAGE_TARGET]))
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("{program} cannot be started"))?;
    ensure!(status.success(), "{program} failed: see above");
    Ok(())
}
