//! A world of its own for each test, with this domain alone.

use tributary_functions::program::Program;
pub(crate) use tributary_testing::Answer;
use tributary_testing::AppUnderTest;

/// An app with this domain alone.
pub(crate) struct TestApp;

impl AppUnderTest for TestApp {
    const ROOT: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    fn program() -> Program {
        Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(tributary_news::domain)
    }
}

/// The app on an empty account, in this process.
pub(crate) type World = tributary_testing::World<TestApp>;
