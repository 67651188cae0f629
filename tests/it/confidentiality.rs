//! Keys and contents are in no log line, trace or metric, at any level. This takes longest, so it begins early.

use tributary_testing::checks;

use crate::{handler::HANDLER, world::TestApp};

#[tokio::test(flavor = "multi_thread")]
async fn no_key_and_no_content_is_in_an_output_at_any_level() {
    checks::no_output_has_a_secret::<TestApp>(HANDLER).await;
}
