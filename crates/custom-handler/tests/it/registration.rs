//! Names of triggers.

use custom_handler::{CustomHandler, RegistrationError};

fn with_names(names: &[&str]) -> CustomHandler {
    names.iter().fold(CustomHandler::new(), |app, name| app.trigger(*name, async || ()))
}

#[test]
fn the_names_are_listed_in_order() {
    let longest = "x".repeat(128);
    let names = ["HomeFeed", "a", "Nightly-2_b", &longest];
    let app = with_names(&names);
    assert_eq!(app.trigger_names(), names);
    assert!(app.into_router().is_ok());
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

#[tokio::test]
async fn a_bad_name_keeps_the_app_from_being_served() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let error = with_names(&["a b"]).serve_on(listener, async {}).await.unwrap_err();
    assert!(error.to_string().contains("`a b` cannot be the name of a function"));
}
