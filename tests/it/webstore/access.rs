//! The catalog belongs to no user: where App Service Authentication tells who calls, a function key
//! alone opens its commands.

use super::requests;
use crate::{access::call_as, world::World};

#[tokio::test]
async fn the_catalog_asks_nobody_to_sign_in() {
    for user in [None, Some("ann")] {
        let world = World::new().await.with_easyauth().await;
        for (method, path, body, status) in requests::catalog("Red") {
            call_as(&world, user, (method, path, body)).await.expect(status);
        }
    }
}
