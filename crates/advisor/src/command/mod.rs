//! The subcommands, a file each. To add one: its file here with `Arguments` and `run`, a variant of
//! `Command` in `main`, and a line in its match.

pub(crate) mod advise;
mod input;
#[cfg(feature = "cosmos")]
pub(crate) mod monitor;
mod properties;
mod run_analysis;
