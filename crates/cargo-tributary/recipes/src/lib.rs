//! The app: its domains, one line each, its errors and its sign-in.

use tributary_functions::program::Program;

pub mod recipes;

/// Returns the app.
pub fn program() -> Program {
    let app = Program::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
    app.domain(recipes::domain).errors::<recipes::Errors>().sign_in(recipes::sign_in)
}
