//! The permissions of callers that App Service Authentication has signed in.

mod commands;
mod headers;
mod sign_up;

use serde_json::Value;

use crate::{
    blog::given,
    world::{Answer, World},
};

/// The header that the platform sends for a user who signed in with Microsoft Entra.
pub(crate) const PRINCIPAL_ID: &str = "X-MS-CLIENT-PRINCIPAL-ID";

/// The blog of [`given::blog`] with Bob's comment `p1/comments/{id}` and Bob's like of `p1`, behind
/// App Service Authentication; and the id of the comment.
pub(super) async fn blog() -> (World, String) {
    let world = given::blog().await;
    let comment = given::comment(&world, "p1", "bob", "Nice").await.expect(201).json();
    given::like(&world, "p1", "bob").await.expect(201);
    (world.with_easyauth().await, comment["id"].as_str().unwrap().to_owned())
}

/// Sends a request of a user, or without a user.
pub(crate) async fn call_as(
    world: &World,
    user: Option<&str>,
    (method, path, body): (&str, &str, Option<Value>),
) -> Answer {
    let headers: Vec<_> = user.into_iter().map(|user| (PRINCIPAL_ID, user)).collect();
    world.call(method, path, &headers, body).await
}
