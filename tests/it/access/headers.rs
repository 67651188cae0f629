//! The app's use of the headers of App Service Authentication. The tests beside
//! `crates/tributary-functions/src/http/principal.rs` have the readable forms of each header.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::blog;
use crate::{
    blog as given,
    callers::PRINCIPAL_ID,
    expect::{parse_problem, problem},
};

const LIKE: (&str, &str) = ("PUT", "/api/posts/p1/likes/ann");

/// The header with the claims, as the platform writes it.
fn claims(provider: &str, claims: &Value) -> String {
    STANDARD.encode(
        json!({"auth_typ": provider, "claims": claims, "name_typ": "name", "role_typ": "roles"})
            .to_string(),
    )
}

#[tokio::test]
async fn the_claims_name_the_caller_if_no_other_header_does() {
    let (world, _) = blog().await;
    let id = "http://schemas.microsoft.com/identity/claims/objectidentifier";
    for (user, status) in [("ann", 201), ("bob", 403)] {
        let claims = claims("aad", &json!([{"typ": id, "val": user}]));
        let headers = [("X-MS-CLIENT-PRINCIPAL", claims.as_str())];
        world.call(LIKE.0, LIKE.1, &headers, None).await.expect(status);
    }
}

#[tokio::test]
async fn users_of_two_providers_with_one_id_are_two_users() {
    let (world, _) = blog().await;
    let google = [(PRINCIPAL_ID, "ann"), ("X-MS-CLIENT-PRINCIPAL-IDP", "google")];
    problem(&world.call(LIKE.0, LIKE.1, &google, None).await, 403);
    let name = Some(json!({"username": "Ann of Google"}));
    let user = world.call("POST", "/api/users", &google, name).await.expect(201).json();
    assert_eq!(user["id"], "google.ann");
    world.call("PUT", "/api/posts/p1/likes/google.ann", &google, None).await.expect(201);
}

#[tokio::test]
async fn headers_that_the_platform_cannot_send_are_refused_in_words() {
    let (world, _) = blog().await;
    let long = "A".repeat(100_000);
    for headers in [
        &[(PRINCIPAL_ID, "ann"), (PRINCIPAL_ID, "bob")][..],
        &[(PRINCIPAL_ID, "ann"), ("X-MS-CLIENT-PRINCIPAL", "%%%")],
        &[(PRINCIPAL_ID, "ann"), ("X-MS-CLIENT-PRINCIPAL", "bm8=")],
        &[(PRINCIPAL_ID, "ann"), ("X-MS-CLIENT-PRINCIPAL", &long)],
        &[(PRINCIPAL_ID, &long)],
    ] {
        let answer = world.call(LIKE.0, LIKE.1, headers, None).await;
        let detail = problem(&answer, 401)["detail"].clone();
        assert!(detail.as_str().unwrap().contains("App Service Authentication"), "{detail}");
    }
    problem(&world.call(LIKE.0, LIKE.1, &[(PRINCIPAL_ID, "auth0|1")], None).await, 403);
}

#[tokio::test]
async fn a_query_ignores_the_caller() {
    let (world, _) = blog().await;
    for path in ["/api/feed", "/api/posts/p1", "/api/users/ann", "/api/posts/p1/likes"] {
        world.get(path).await.expect(200);
        world.call("GET", path, &[("X-MS-CLIENT-PRINCIPAL", "%%%")], None).await.expect(200);
    }
}

#[tokio::test]
async fn the_headers_are_ignored_without_the_mode() {
    let world = given::blog().await;
    for headers in [&[][..], &[(PRINCIPAL_ID, "bob")], &[("X-MS-CLIENT-PRINCIPAL", "%%%")]] {
        let answer = world.call(LIKE.0, LIKE.1, headers, None).await;
        assert!(answer.status.is_success(), "{}", answer.text);
    }
    let name = Some(json!({"username": "Cy"}));
    let user = world.call("POST", "/api/users", &[(PRINCIPAL_ID, "cy")], name).await;
    assert_ne!(user.expect(201).json()["id"], "cy");
}

#[tokio::test]
async fn an_unknown_path_tells_nothing_of_the_caller() {
    let (world, _) = blog().await;
    let answer = world.call("PATCH", LIKE.1, &[(PRINCIPAL_ID, "ann")], None).await;
    problem(&answer, 405);
    assert!(parse_problem(&answer).is_ok());
}
