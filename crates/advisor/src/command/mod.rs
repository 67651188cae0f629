//! The subcommands, a file each. To add one: its file here with `Arguments` and `run`, a variant of
//! `Command` in `main`, and a line in its match.

pub(crate) mod advise;
pub(crate) mod advise_arguments;
mod input;
#[cfg(feature = "cosmos")]
mod live_container;
#[cfg(feature = "cosmos")]
pub(crate) mod monitor;
mod properties;
mod run_analysis;
#[cfg(feature = "cosmos")]
pub(crate) mod sample;
