#![doc = include_str!("../README.md")]

mod archive;
mod layout;
mod stage;

pub use archive::{Compression, pack, unpack};
pub use layout::{Layout, function_folders};
pub use stage::stage;
