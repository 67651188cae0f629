//! The machine of a measurement.

use std::{fs, process::Command, thread};

/// Returns one line for the docs: processor, system, compiler, without the unknown ones.
pub(crate) fn line() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let cores = Some(format!("{cores} cores, {}", std::env::consts::ARCH));
    let processor = value("/proc/cpuinfo", "model name\t: ");
    let system = value("/etc/os-release", "PRETTY_NAME=");
    let kernel = value("/proc/sys/kernel/osrelease", "").map(|release| format!("Linux {release}"));
    let parts = [cores, processor, system, kernel, compiler()];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn compiler() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn value(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(value.trim_matches('"').to_owned())
}
