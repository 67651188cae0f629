//! A world of its own for each test, with the app of the program.

use tributary_functions::program::Program;
pub(crate) use tributary_testing::Answer;
use tributary_testing::AppUnderTest;

pub(crate) struct TestApp;

impl AppUnderTest for TestApp {
    const ROOT: &'static str = crate::ROOT;

    fn program() -> Program {
        crate::program()
    }
}

/// The app on an empty account, in this process.
pub(crate) type World = tributary_testing::World<TestApp>;
