//! No password and no hash leaves the container of the customers.

use tributary_testing::checks;

use crate::world::TestApp;

#[tokio::test]
async fn no_answer_and_no_copy_has_a_password_or_its_hash() {
    checks::secrets_stay_inside::<TestApp>().await;
}
