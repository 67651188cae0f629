//! A world of its own for each test.

use tributary_functions::program::Program;
pub(crate) use tributary_testing::Answer;
use tributary_testing::AppUnderTest;

/// The app of this repository.
pub(crate) struct Tributary;

impl AppUnderTest for Tributary {
    const ROOT: &'static str = env!("CARGO_MANIFEST_DIR");

    fn program() -> Program {
        tributary::program()
    }
}

/// The app on an empty account, in this process.
pub(crate) type World = tributary_testing::World<Tributary>;
