#![doc = include_str!("../README.md")]

mod function_app;

mod archive;
mod elf;
mod layout;
mod stage;
mod tools;

pub use archive::{Compression, pack, unpack};
pub use function_app::{BuildOptions, FunctionApp, build};
pub use layout::{Layout, function_folders};
pub use stage::stage;
