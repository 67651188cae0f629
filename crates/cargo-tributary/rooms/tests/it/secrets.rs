//! Keys and texts of callers are in no log line, trace or metric.

use tributary_testing::checks;

use crate::App;

#[tokio::test]
async fn no_output_has_a_secret() {
    checks::no_output_has_a_secret::<App>(env!("CARGO_BIN_EXE_my-app")).await;
}
