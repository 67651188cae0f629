//! The function app as the Functions host takes it: a folder, and that folder as a zip.
//!
//! - [`Layout`]: where the parts are in the project;
//! - [`stage`]: the folder, which `cargo local` runs and `cargo xtask package` deploys;
//! - [`pack`], [`unpack`]: the zip.

mod archive;
mod layout;
mod stage;

pub use archive::{Compression, pack, unpack};
pub use layout::{Layout, function_folders};
pub use stage::stage;
