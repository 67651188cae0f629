//! The arguments and results of handlers, and the names and routes of functions.

use std::fmt;

use custom_handler::{
    CustomHandler, FromInvocation, Invocation, InvocationError, InvocationOutcome,
};
use serde_json::json;

use crate::world::TestApp;

const BODY: &str = r#"{"Data":{"x":[]}}"#;

#[tokio::test]
async fn every_kind_of_result_is_an_answer() {
    let app = TestApp::new(
        CustomHandler::new()
            .trigger("Unit", async || ())
            .trigger("Outcome", async || InvocationOutcome::new().output("queue", "text"))
            .trigger("OkUnit", async || Ok::<(), String>(()))
            .trigger("OkOutcome", async || {
                Ok::<_, String>(InvocationOutcome::new().output("n", 1))
            }),
    );
    let answer = |outputs| json!({"Outputs": outputs, "Logs": [], "ReturnValue": null});
    for (function, outputs) in [
        ("Unit", json!({})),
        ("OkUnit", json!({})),
        ("Outcome", json!({"queue": "text"})),
        ("OkOutcome", json!({"n": 1})),
    ] {
        assert_eq!(app.invoke(function, BODY).await.answer(), answer(outputs));
    }
}

#[tokio::test]
async fn an_error_is_logged_with_its_causes() {
    struct Chain;
    impl fmt::Display for Chain {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(if f.alternate() { "outer: inner" } else { "outer" })
        }
    }
    let app = TestApp::new(CustomHandler::new().trigger("Fails", async || Err::<(), _>(Chain)));
    assert_eq!(app.invoke("Fails", BODY).await.failure(500).trim(), "outer: inner");
}

#[tokio::test]
async fn other_triggers_data_is_read_by_an_own_extractor() {
    struct QueueMessage(String);
    impl FromInvocation for QueueMessage {
        fn from_invocation(invocation: &Invocation) -> Result<Self, InvocationError> {
            let data = invocation
                .data("message")
                .ok_or_else(|| InvocationError::new("the binding `message` has no data"))?;
            serde_json::from_str(data.get())
                .map(Self)
                .map_err(|_| InvocationError::new("the message is not text"))
        }
    }
    let app = TestApp::new(CustomHandler::new().trigger("Queue", async |message: QueueMessage| {
        InvocationOutcome::new().output("text", message.0)
    }));
    let send = async |data| app.invoke("Queue", json!({ "Data": data }).to_string()).await;
    assert_eq!(send(json!({"message": "hi", "other": 1})).await.output("text"), "hi");
    assert!(send(json!({"message": 1})).await.failure(400).contains("not text"));
    assert!(send(json!({})).await.failure(400).contains("`message` has no data"));
}

fn with_names(names: &[&str]) -> CustomHandler {
    names.iter().fold(CustomHandler::new(), |app, name| app.trigger(*name, async || ()))
}

#[test]
fn a_name_is_one_that_the_host_takes_and_used_once_in_any_case() {
    let too_long = "x".repeat(129);
    for name in ["", "host", "Host", "1a", "_a", "-a", "a b", "a/b", "a.b", "é", "aé", &too_long]
    {
        let error = with_names(&["Good", name, "AlsoGood"]).into_router().unwrap_err();
        assert!(error.to_string().contains(&format!("`{name}` cannot be")));
    }
    let http = |app: CustomHandler, name| app.http_functions([(name, "/api/feed")]);
    for app in [
        with_names(&["HomeFeed", "homefeed"]),
        http(CustomHandler::new(), "HomeFeed").trigger("homefeed", async || ()),
        http(with_names(&["HomeFeed"]), "homefeed"),
    ] {
        let error = app.into_router().unwrap_err().to_string();
        assert!(error.contains("`homefeed` is registered twice"), "{error}");
    }
}

#[test]
fn a_route_that_a_caller_could_start_a_trigger_with_is_an_error() {
    for route in ["/", "/HomeFeed", "/{name}", "/{*rest}", "api/feed", "/api", "/apis/feed", ""] {
        let app = CustomHandler::new().http_functions([("GetFeed", "/api/feed"), ("Bad", route)]);
        let error = app.trigger("HomeFeed", async || ()).into_router().unwrap_err();
        let expected = format!("the route `{route}` of `Bad` is not below `/api/`");
        assert!(error.to_string().contains(&expected), "{error}");
    }
    let app =
        CustomHandler::new().http_functions([("GetFeed", "/api/feed"), ("Z", "/api/{*rest}")]);
    assert!(app.trigger("HomeFeed", async || ()).into_router().is_ok());
}
