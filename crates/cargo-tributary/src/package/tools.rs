//! The tools of the build beside Rust: cargo-zigbuild, which links against any glibc with zig.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, ensure};

/// The target of the build. Flex Consumption runs Linux on x64 alone, so there is no choice.
pub(crate) const IMAGE_TARGET: &str = "x86_64-unknown-linux-gnu";

const PYTHON_REQUIREMENTS: &str = include_str!("requirements.txt");

/// Returns the command `cargo-zigbuild zigbuild`. Finds the tools on the `PATH` or in a virtual environment of
/// Python in `folder`, or installs them there. The error says how to install them.
pub(crate) fn cargo_zigbuild(folder: &Path, install: bool) -> anyhow::Result<Command> {
    find_target(install)?;
    // Written last, so it exists only after a complete installation.
    let installed = folder.join("requirements.txt");
    let programs = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let is_installed =
        fs::read_to_string(&installed).is_ok_and(|installed| installed == PYTHON_REQUIREMENTS);
    if install && !is_installed {
        let python = if cfg!(windows) { "python" } else { "python3" };
        run(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
        let wanted = folder.join("wanted.txt");
        fs::write(&wanted, PYTHON_REQUIREMENTS)?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let mut command = Command::new(programs.join("python"));
        run(command.args(pip).args(["--require-hashes", "--requirement"]).arg(&wanted))?;
        fs::rename(&wanted, &installed)?;
    }
    let mut zigbuild = Command::new("cargo-zigbuild");
    if install || is_installed {
        zigbuild = Command::new(programs.join("cargo-zigbuild"));
        zigbuild.env("CARGO_ZIGBUILD_PYTHON_PATH", programs.join("python"));
    } else {
        let version = Command::new("cargo-zigbuild").arg("--version").output();
        ensure!(
            version.is_ok_and(|output| output.status.success()),
            "cargo-zigbuild is missing. `--install-tools` installs it into target/tools; \
             `pip install cargo-zigbuild` for yourself, zig included"
        );
    }
    zigbuild.arg("zigbuild");
    Ok(zigbuild)
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
