//! This binary as the launcher of a handler, which asks the system to kill the handler together with its parent.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const BECOME_ARGUMENT: &str = "--become";

/// Returns the command that makes this binary the launcher of a program. A build may have replaced the
/// binary's file meanwhile, so the path is the system's link to the running program.
pub(crate) fn words() -> Option<Vec<PathBuf>> {
    cfg!(target_os = "linux").then(|| vec!["/proc/self/exe".into(), BECOME_ARGUMENT.into()])
}

pub(crate) fn requested() -> Option<Vec<OsString>> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == BECOME_ARGUMENT).then(|| words.collect())
}

/// Replaces this process by the program; returns only if that fails.
#[cfg(target_os = "linux")]
pub(crate) fn become_program(words: &[OsString]) -> ExitCode {
    use std::os::unix::process::CommandExt as _;

    let [program, arguments @ ..] = words else {
        return ExitCode::FAILURE;
    };
    let killed = rustix::process::Signal::KILL;
    let error = match rustix::process::set_parent_process_death_signal(Some(killed)) {
        Ok(()) => std::process::Command::new(program).args(arguments).exec(),
        Err(error) => error.into(),
    };
    anstream::eprintln!("{} cannot be started: {error}", program.display());
    ExitCode::FAILURE
}

/// Never called: only Linux has the launcher.
#[cfg(not(target_os = "linux"))]
pub(crate) fn become_program(_words: &[OsString]) -> ExitCode {
    ExitCode::FAILURE
}
