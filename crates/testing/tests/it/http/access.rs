//! Callers of the rooms, and each way in which a function may admit the wrong ones.

use axum::{Json, extract::State, http::StatusCode};
use serde_json::{Value, json};
use tributary_functions::{
    config::ConfigError,
    domain::{Context, Domain},
    http::{self, Actor, ApiError, AuthLevel, HttpFunction, JsonBody, Params},
    program::Program,
};
use tributary_testing::{AppUnderTest, checks};

use crate::{
    Rooms,
    rooms::{self, PersonId, Stores},
};

/// Returns the rooms with another function in place of the one with its name, or beside all.
fn rooms_with(
    context: &Context<'_>,
    function: HttpFunction<Stores>,
) -> Result<Domain, ConfigError> {
    let mut domain = rooms::domain(context)?;
    let function = function.with_state(Stores::new(context.cosmos));
    domain.http_functions.retain(|other| other.name != function.name);
    domain.http_functions.push(function);
    Ok(domain)
}

macro_rules! wrong_callers {
    ($($app:ident, $test:ident: $function:expr => $error:literal;)+) => {$(
        struct $app;

        impl AppUnderTest for $app {
            const ROOT: &'static str = Rooms::ROOT;

            fn program() -> Program {
                fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
                    rooms_with(context, $function)
                }
                Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(domain)
            }
        }

        #[tokio::test]
        #[should_panic(expected = $error)]
        async fn $test() {
            checks::access_by_caller::<$app>().await;
        }
    )+};
}

wrong_callers! {
    NoUserIsAsked, a_line_that_asks_for_an_owner_needs_a_handler_that_does:
        http::get("GetGuests", "/api/guests", AuthLevel::Owner, async || StatusCode::NO_CONTENT)
        => "GetGuests never asks for its user";
    PublicCommand, a_command_is_not_for_every_caller:
        http::post("Clear", "/api/clear", AuthLevel::Anonymous, async || StatusCode::NO_CONTENT)
        => "Clear is a command for every caller";
    UserIsAsked, a_handler_that_asks_for_a_user_needs_a_line_that_does:
        http::post("Clear", "/api/clear", AuthLevel::Function, async |_: Actor| StatusCode::NO_CONTENT)
        => "Clear takes an `Actor`. Write Owner or User in the line of Clear in the table of the domain `rooms`";
    EveryUserIsOwner, a_handler_that_lets_any_user_act_for_an_owner_is_found:
        http::put("PutPerson", "/api/people/{personId}", AuthLevel::Owner, put_any_person)
        => "PutPerson lets a-stranger act for another user";
    OwnerIsTold, a_text_that_a_query_shows_to_its_owner_alone_is_in_no_public_answer:
        http::get("GetPerson", "/api/people/{personId}", AuthLevel::Owner, get_person)
        => "tells every caller a text that another query shows to its owner alone";
    NoExample, a_function_that_does_not_take_its_example_is_named_with_its_line:
        http::get("GetNothing", "/api/nothing", AuthLevel::Anonymous, nothing)
        => "add `.example(…)` to the line of GetNothing in the table of the domain `rooms`";
}

async fn put_any_person(
    _: Actor,
    Params(_): Params<PersonId>,
    JsonBody(_): JsonBody<rooms::Name>,
) -> Result<Json<Value>, ApiError> {
    Ok(Json(json!({})))
}

/// Returns a person to the person alone; the rooms show the name to all.
async fn get_person(
    State(stores): State<Stores>,
    actor: Actor,
    Params(id): Params<PersonId>,
) -> Result<Json<Value>, ApiError> {
    actor.must_be(id.as_str())?;
    let person = stores.person(&id).await?.ok_or(ApiError::NotFound("person"))?;
    Ok(Json(json!({"name": person.item.name})))
}

async fn nothing() -> Result<StatusCode, ApiError> {
    Err(ApiError::NotFound("nothing"))
}
