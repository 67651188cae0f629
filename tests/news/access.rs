//! The permissions in the news with App Service Authentication: items belong to no user. A function
//! key alone opens the commands of crawlers and operators.

use super::requests;
use crate::{callers::call_as, world::World};

#[tokio::test]
async fn the_news_ask_nobody_to_sign_in() {
    for user in [None, Some("ann")] {
        let world = World::new().await.with_easyauth().await;
        for (method, path, body, status) in requests::all("Red text", "example") {
            call_as(&world, user, (method, &path, body)).await.expect(status);
        }
    }
}
