//! The app: its domains, one line each.

use tributary_functions::program::Program;

pub mod garden;

/// Returns the app.
pub fn program() -> Program {
    Program::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).domain(garden::domain)
}
