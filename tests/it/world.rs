//! A world of its own for each test, with the whole app.

use tributary_functions::program::Program;
pub(crate) use tributary_testing::Answer;
use tributary_testing::AppUnderTest;

/// The app of this repository.
pub(crate) struct TestApp;

impl AppUnderTest for TestApp {
    const ROOT: &'static str = env!("CARGO_MANIFEST_DIR");

    fn program() -> Program {
        tributary::program()
    }
}

/// The app on an empty account, in this process.
pub(crate) type World = tributary_testing::World<TestApp>;
