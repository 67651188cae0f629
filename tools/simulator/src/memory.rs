//! The memory of a program, as Linux counts it.

use std::{convert::Infallible, fs, path::Path, time::Duration};

use tokio::time::sleep;

/// The peak of the physical memory of all child processes that run a program.
#[derive(Debug, Default)]
pub(crate) struct Peak(Option<u64>);

impl Peak {
    /// Samples the memory until the future is dropped; a process that ends between two samples counts
    /// with the last one.
    pub(crate) async fn watch(&mut self, executable: &Path) -> Infallible {
        loop {
            self.0 = self.0.max(peak_of_children(executable));
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// Returns the peak; `None` if the system does not report it.
    pub(crate) fn kibibytes(&self) -> Option<u64> {
        self.0
    }
}

fn peak_of_children(executable: &Path) -> Option<u64> {
    let executable = executable.canonicalize().ok()?;
    let is_child = |status: &str| field(status, "PPid:") == Some(u64::from(std::process::id()));
    let processes = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    processes
        .filter(|process| fs::read_link(process.join("exe")).is_ok_and(|exe| exe == executable))
        .filter_map(|process| fs::read_to_string(process.join("status")).ok())
        .filter(|status| is_child(status))
        .filter_map(|status| field(&status, "VmHWM:"))
        .max()
}

/// Returns the number after a name in `/proc/<pid>/status`; see `man 5 proc_pid_status`.
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}
