//! Becomes another program that ends together with `cargo local`, even when that one is killed
//! and cannot clean up (Linux only: elsewhere a killed `cargo local` leaves its handler).

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

const ARGUMENT: &str = "--become";

/// The words that make this binary the launcher of a program. The build may have replaced its
/// file meanwhile, so the path is the one that the system keeps for the running program.
pub(crate) fn words() -> Option<Vec<PathBuf>> {
    cfg!(target_os = "linux").then(|| vec!["/proc/self/exe".into(), ARGUMENT.into()])
}

/// The program and its arguments, when this process is a launcher.
pub(crate) fn requested() -> Option<Vec<OsString>> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == ARGUMENT).then(|| words.collect())
}

/// Replaces this process by the program; returns only when that failed.
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

/// Elsewhere nothing asks for it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn become_program(_words: &[OsString]) -> ExitCode {
    ExitCode::FAILURE
}
