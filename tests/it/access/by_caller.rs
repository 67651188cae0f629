//! Each function is for the callers in its line of the table.

use tributary_testing::checks;

use crate::world::TestApp;

#[tokio::test]
async fn each_function_is_for_the_callers_in_its_line() {
    checks::access_by_caller::<TestApp>().await;
}
