//! The subcommands, a file each. To add one: its file here with its arguments and `run`, a variant of
//! `AdvisorCommand` in `main`, and a line in its match.

pub(crate) mod advise;
pub(crate) mod advise_arguments;
mod input;
pub(crate) mod monitor;
mod properties;
mod run_analysis;
#[cfg(feature = "cosmos")]
pub(crate) mod sample;
mod terminal;
