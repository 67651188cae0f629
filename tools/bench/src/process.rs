//! Linux's data about a process.

use std::{fs, time::Duration};

use anyhow::Context as _;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Process(pub(crate) u32);

/// A tick of the processor's accounting (`USER_HZ`); the same on every x86-64 and Arm Linux.
const CPU_TICK: Duration = Duration::from_millis(10);

impl Process {
    /// Returns the resident memory in KiB.
    pub(crate) fn memory(self) -> anyhow::Result<usize> {
        field(&self.read("status")?, "VmRSS:").context("the system does not report the memory")
    }

    pub(crate) fn peak(self) -> anyhow::Result<usize> {
        field(&self.read("status")?, "VmHWM:").context("the system does not report the peak")
    }

    /// Returns the processor time that it has taken so far, in user and in system mode.
    pub(crate) fn cpu_time(self) -> anyhow::Result<Duration> {
        let ticks =
            ticks(&self.read("stat")?).context("the system does not report the processor time")?;
        Ok(CPU_TICK * ticks)
    }

    fn read(self, file: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{file}", self.0);
        fs::read_to_string(&path)
            .with_context(|| format!("{path} cannot be read: this needs Linux"))
    }
}

/// Returns the number after a name in `/proc/<pid>/status`; see `man 5 proc_pid_status`.
fn field(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the sum of fields 14 and 15 of `/proc/<pid>/stat`. Field 2 is the program's name in
/// parentheses, which may have spaces and parentheses of its own; see `man 5 proc_pid_stat`.
fn ticks(stat: &str) -> Option<u32> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u32>().ok();
    ticks()?.checked_add(ticks()?)
}
