//! The permissions of callers that App Service Authentication has signed in.

mod by_caller;
mod commands;
mod headers;
mod sign_up;

use crate::{blog as given, world::World};

/// The blog of [`given::blog`] with Bob's comment `p1/comments/{id}` and Bob's like of `p1`, behind
/// App Service Authentication; and the id of the comment.
pub(super) async fn blog() -> (World, String) {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    given::like(&world, "p1", "bob").await.expect(201);
    (world.with_easyauth().await, comment["id"].as_str().unwrap().to_owned())
}
