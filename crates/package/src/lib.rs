#![doc = include_str!("../README.md")]

mod function_app;

mod archive;
mod elf;
mod layout;
mod stage;
mod tools;

pub use archive::{ZipCompression, pack, unpack};
pub use function_app::{BuildOptions, FunctionApp, build};
pub use layout::{AppLayout, function_folders};
pub use stage::{link, stage};
