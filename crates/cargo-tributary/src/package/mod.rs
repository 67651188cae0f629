//! Packages a function app with a custom handler for the Azure Functions host: a folder, and that folder as a zip.
//!
//! - [`build`]: all of it, with the handler built for the oldest glibc of the Functions images;
//! - [`AppLayout`]: the parts of the app in its project;
//! - [`stage()`]: the folder with `host.json`, the executable and a `function.json` for each function;
//! - [`pack`], [`unpack`]: the zip. The same files give the same bytes, the executable may be executed, and
//!   `.funcignore` counts.

mod function_app;

mod archive;
mod elf;
mod layout;
mod stage;
mod tools;

pub use archive::{ZipCompression, pack, unpack};
pub use function_app::{FunctionApp, build};
pub use layout::{AppLayout, function_folders};
pub use stage::{link, stage};
