//! The function of a request.

use axum::http::Method;
use tributary_local::host::{FunctionApp, routes::Template};

use crate::support::{http_function, settings, staged};

#[test]
fn a_template_matches_as_in_asp_net_core() {
    // `answers.rs` has slashes at the end, in a row and encoded, and letters in another case.
    let cases = [
        ("api/feed", "/api/feed", true),
        ("api/feed", "/api/feeds", false),
        ("api/feed", "/api", false),
        ("api/posts/{id}", "/api/posts/p1", true),
        ("api/posts/{id}", "/api/posts/", false),
        ("api/posts/{id}", "/api/posts/p1/likes", false),
        ("api/posts/{id?}", "/api/posts", true),
        ("api/posts/{id?}", "/api/posts/p1", true),
        ("api/{*path}", "/api/a/b/c", true),
        ("api/{*path}", "/api", true),
        ("api/{*path}", "/apis/a", false),
        ("{**path}", "/", true),
        ("{nothing:maxlength(0)?}", "/", true),
        ("{nothing:maxlength(0)?}", "/a", false),
    ];
    for (template, path, expected) in cases {
        let matches = Template::parse(template).unwrap().matches(path);
        assert_eq!(matches, expected, "{template} and {path}");
    }
}

#[test]
fn a_template_that_cannot_be_read_is_refused() {
    for template in ["/api", "~/api", "a/{*rest}/b", "a{b}", "{", "{}", "{a:int}", "{a=1}"] {
        assert!(Template::parse(template).is_err(), "{template}");
    }
}

#[test]
fn of_the_matching_routes_the_most_literal_wins_and_then_the_first_name() {
    let app = staged(&[
        ("ZLast", http_function("api/{*path}", &[], "anonymous")),
        ("GetPostAgain", http_function("api/posts/{name}", &["get"], "anonymous")),
        ("getPost", http_function("api/posts/{id}", &["get"], "anonymous")),
        ("DeletePost", http_function("api/posts/{id}", &["delete"], "anonymous")),
        ("Special", http_function("api/posts/special", &["get", "post"], "anonymous")),
    ]);
    let app = FunctionApp::load(app.path(), &settings()).unwrap();
    let find = |method: Method, path: &str| {
        app.route(&method, path).map(|(function, _)| function.name.as_str())
    };
    assert_eq!(find(Method::DELETE, "/api/posts/p1"), Some("DeletePost"));
    // A literal is a better match than a parameter, in any order of the names.
    assert_eq!(find(Method::GET, "/api/posts/special"), Some("Special"));
    assert_eq!(find(Method::GET, "/api/posts/p1"), Some("getPost"));
    assert_eq!(find(Method::POST, "/api/posts/special"), Some("Special"));
    assert_eq!(find(Method::PATCH, "/api/posts/p1"), Some("ZLast"));
    assert_eq!(find(Method::GET, "/elsewhere"), None);
}
