//! Secrets of the rooms, and an answer that has one.

use axum::Json;
use tributary_functions::{
    config::ConfigError,
    domain::{Context, Domain},
    http::{self, ApiError, AuthLevel, JsonBody, from_form},
    program::Program,
    values::{self, Invalid},
};
use tributary_testing::{AppUnderTest, checks};

use crate::{Rooms, rooms};

/// A text that callers send and never get.
struct Pin(String);

values::text_schema!(Pin, "writeOnly": true, "examples": ["4711-0815"]);

impl Pin {
    #[expect(clippy::unnecessary_wraps, reason = "as all parsers of checked values")]
    fn parse(text: String) -> Result<Self, Invalid> {
        Ok(Self(text))
    }
}

struct NewPin(Pin);

from_form!(NewPin(text("pin", Pin::parse)));

async fn post_pin(JsonBody(NewPin(Pin(pin))): JsonBody<NewPin>) -> Result<Json<String>, ApiError> {
    Ok(Json(pin))
}

struct Telling;

impl AppUnderTest for Telling {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
            let mut domain = rooms::domain(context)?;
            let function = http::post("PostPin", "/api/pins", AuthLevel::Function, post_pin);
            domain.http_functions.push(function.with_state(()));
            Ok(domain)
        }
        Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(domain)
    }
}

#[tokio::test]
#[should_panic(expected = "a secret is in /api/pins")]
async fn an_answer_with_a_value_that_callers_never_get_is_found() {
    checks::secrets_stay_inside::<Telling>().await;
}
