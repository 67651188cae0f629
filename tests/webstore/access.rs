//! The permissions in the WebStore with App Service Authentication.
//!
//! The catalog belongs to no user: a function key alone opens its commands. A customer belongs to the
//! user with its id, with its orders and its password, and so do the queries of them.

use std::collections::BTreeSet;

use tributary_functions::http::HttpFunction;

use super::requests;
use crate::{
    callers::call_as,
    expect::{free_of_charge, problem},
    world::World,
};

#[tokio::test]
async fn the_catalog_asks_nobody_to_sign_in() {
    for user in [None, Some("ann")] {
        let world = World::new().await.with_easyauth().await;
        for (method, path, body, status) in requests::catalog("Red") {
            call_as(&world, user, (method, path, body)).await.expect(status);
        }
    }
}

/// The world of [`requests::customers`] behind App Service Authentication, and the order's id.
async fn shop() -> (World, String) {
    let world = World::new().await;
    let mut order = String::new();
    for (method, path, body) in requests::shelf("Red") {
        let answer = world.call(method, path, &[], Some(body)).await.expect(201);
        answer.json()["id"].as_str().unwrap().clone_into(&mut order);
    }
    (world.with_easyauth().await, order)
}

/// Every item of the customers, but for what the store itself notes.
async fn everything(world: &World) -> BTreeSet<String> {
    world.items("customer").await.iter().map(ToString::to_string).collect()
}

/// Returns true if this is a function of a customer.
fn is_of_a_customer(function: &HttpFunction) -> bool {
    function.route.starts_with("/api/customers")
}

fn serves(function: &HttpFunction, method: &str, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let (route, path): (Vec<_>, Vec<_>) =
        (function.route.split('/').collect(), path.split('/').collect());
    let fits = |(part, given): (&&str, &&str)| part.starts_with('{') || part == given;
    function.method == method && route.len() == path.len() && route.iter().zip(&path).all(fits)
}

#[tokio::test]
async fn a_customer_is_for_its_own_user_and_for_nobody_else() {
    let (world, order) = shop().await;
    let mut functions = World::http_functions();
    functions.retain(is_of_a_customer);
    for (method, path, body, status) in requests::customers("Anna", &order) {
        let before = everything(&world).await;
        let request = (method, path.as_str(), body);
        let nobody = call_as(&world, None, request.clone()).await;
        let eve = call_as(&world, Some("eve"), request.clone()).await;
        for (answer, status, kind) in [(&nobody, 401, "unauthorized"), (&eve, 403, "forbidden")] {
            let problem = problem(answer, status);
            assert_eq!(problem["type"], format!("urn:tributary:problem:{kind}"), "{method} {path}");
            free_of_charge(answer);
        }
        assert_eq!(everything(&world).await, before, "{method} {path}: a refused command wrote");
        call_as(&world, Some("ann"), request).await.expect(status);
        functions.retain(|function| !serves(function, method, &path));
    }
    let left: Vec<_> = functions.iter().map(|function| function.name).collect();
    assert!(left.is_empty(), "nobody has called {left:?}");
}

#[tokio::test]
async fn a_user_becomes_the_customer_of_its_own_id() {
    let (world, _) = shop().await;
    let eve = requests::customers("Eve", "none").swap_remove(0).2;
    let request = ("PUT", "/api/customers/eve", eve);
    call_as(&world, Some("eve"), request).await.expect(201);
}

#[tokio::test]
async fn the_report_needs_no_user() {
    let (world, _) = shop().await;
    world.get("/api/reports/top-customers").await.expect(200);
}
