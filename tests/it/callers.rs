//! Callers that App Service Authentication has signed in.

use serde_json::Value;

use crate::world::{Answer, World};

/// The header that the platform sends for a user that is signed in with Microsoft Entra.
pub(crate) const PRINCIPAL_ID: &str = "X-MS-CLIENT-PRINCIPAL-ID";

/// Sends a request of a user, or without a user.
pub(crate) async fn call_as(
    world: &World,
    user: Option<&str>,
    (method, path, body): (&str, &str, Option<Value>),
) -> Answer {
    let headers: Vec<_> = user.into_iter().map(|user| (PRINCIPAL_ID, user)).collect();
    world.call(method, path, &headers, body).await
}
