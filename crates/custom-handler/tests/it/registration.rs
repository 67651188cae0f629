//! Names of functions, and routes.

use custom_handler::{CustomHandler, RegistrationError};

fn with_names(names: &[&str]) -> CustomHandler {
    names.iter().fold(CustomHandler::new(), |app, name| app.trigger(*name, async || ()))
}

#[test]
fn a_name_that_the_host_refuses_is_an_error() {
    let too_long = "x".repeat(129);
    for name in ["", "host", "Host", "1a", "_a", "-a", "a b", "a/b", "a.b", "é", "aé", &too_long]
    {
        let error = with_names(&["Good", name, "AlsoGood"]).into_router().unwrap_err();
        assert_eq!(error, RegistrationError::InvalidName(name.to_owned()));
        assert!(error.to_string().contains(&format!("`{name}`")));
    }
}

#[test]
fn a_name_is_used_once_in_any_case() {
    let error = with_names(&["HomeFeed", "homefeed"]).into_router().unwrap_err();
    assert_eq!(error, RegistrationError::DuplicateName("homefeed".to_owned()));
}

#[test]
fn a_route_that_a_caller_could_start_a_trigger_with_is_an_error() {
    for route in ["/", "/HomeFeed", "/{name}", "/{*rest}", "api/feed", "/api", "/apis/feed", ""] {
        let app = CustomHandler::new().http_functions([("GetFeed", "/api/feed"), ("Bad", route)]);
        let error = app.trigger("HomeFeed", async || ()).into_router().unwrap_err();
        let name = "Bad".to_owned();
        let route = route.to_owned();
        assert_eq!(error, RegistrationError::RouteOutsidePrefix { name, route });
        assert!(error.to_string().contains("is not below `/api/`"), "{error}");
    }
    let app =
        CustomHandler::new().http_functions([("GetFeed", "/api/feed"), ("Z", "/api/{*rest}")]);
    assert!(app.trigger("HomeFeed", async || ()).into_router().is_ok());
}

#[test]
fn an_http_function_and_a_trigger_have_names_of_their_own() {
    let error = RegistrationError::DuplicateName("homefeed".to_owned());
    let before = CustomHandler::new().http_functions([("HomeFeed", "/api/feed")]);
    assert_eq!(before.trigger("homefeed", async || ()).into_router().unwrap_err(), error);
    let after = with_names(&["HomeFeed"]).http_functions([("homefeed", "/api/feed")]);
    assert_eq!(after.into_router().unwrap_err(), error);
}
