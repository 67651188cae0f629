//! Query strings: a parameter that stands twice would mean one thing to admission control, to the
//! host or to a proxy, and another to the handler.

use super::expect::{bad_fields, free_of_charge};
use crate::{blog::given, world::World};

#[tokio::test]
async fn a_parameter_given_twice_is_refused_by_every_function() {
    let world = World::new().await;
    for function in World::http_functions() {
        let path: Vec<&str> = function
            .route
            .split('/')
            .map(|part| if part.starts_with('{') { "a1" } else { part })
            .collect();
        let path = path.join("/");
        for (query, name) in [
            ("limit=1&limit=100", "limit"),
            ("limit=1&cursor=x&l%69mit=1", "limit"),
            ("limit=100&%6Cimit=1", "limit"),
            ("q=ab&q=ab", "q"),
            // The host reads its names whatever their case.
            ("code=a&CODE=b", "CODE"),
            ("nobodys&nobodys", "nobodys"),
            ("n+n=1&n%20n=2", "n n"),
        ] {
            let answer =
                world.call(function.method.as_str(), &format!("{path}?{query}"), &[], None).await;
            assert_eq!(bad_fields(&answer), [name], "{} {query}", function.name);
            free_of_charge(&answer);
        }
    }
}

#[tokio::test]
async fn parameters_that_differ_are_taken() {
    let world = given::blog().await;
    for query in ["", "?", "?&&", "?limit=1&code=a&limits=2&x", "?limit=%31"] {
        world.get(&format!("/api/feed{query}")).await.expect(200);
    }
}
