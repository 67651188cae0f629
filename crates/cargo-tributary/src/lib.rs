//! The parts of `cargo tributary` that other tools use.

pub mod package;
pub mod scaffold;
