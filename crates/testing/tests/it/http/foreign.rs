//! The rooms with errors of their own form, under the generic checks.

use std::collections::BTreeMap;

use axum::{extract::State, http::StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_functions::{
    config::ConfigError,
    cosmos::{Attempt, Limits, Retryable, StoreError, retry},
    domain::{Context, Domain, bind},
    http::{ApiError, AuthLevel, ErrorBody, FieldError, Params, Refusal, get},
    program::Program,
};
use tributary_testing::{
    Answer, AppUnderTest,
    checks::{self, conditions, openapi::OpenApiDocument},
};

use crate::{
    Rooms,
    rooms::{self, PersonId, Stores},
};

/// `{"errors": {"title": ["must be …"]}}`; what is no field stands under `request`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(example = json!({"errors": {"title": ["must be 1 to 100 characters"]}, "id": null}))]
struct Envelope {
    errors: BTreeMap<String, Vec<String>>,
    id: Option<String>,
}

impl From<Refusal> for Envelope {
    fn from(Refusal { slug, detail, errors, invocation_id: id, .. }: Refusal) -> Self {
        let whole = FieldError { field: "request".into(), message: format!("{slug}: {detail}") };
        let all = if errors.is_empty() { vec![whole] } else { errors };
        let mut errors = BTreeMap::<_, Vec<_>>::new();
        for FieldError { field, message } in all {
            errors.entry(field).or_default().push(message);
        }
        Self { errors, id }
    }
}

impl ErrorBody for Envelope {
    fn status(refusal: &Refusal) -> StatusCode {
        let is_of_fields = refusal.slug == "validation";
        if is_of_fields { StatusCode::UNPROCESSABLE_ENTITY } else { refusal.status }
    }
}

/// An error of the app's own.
enum Refused {
    Api(ApiError),
    OnStrike,
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Api(error.into())
    }
}

impl From<Refused> for ApiError {
    fn from(error: Refused) -> Self {
        match error {
            Refused::Api(error) => error,
            Refused::OnStrike => {
                Refusal::new(StatusCode::LOCKED, "on-strike", "On strike", "Come back tomorrow.")
                    .into()
            }
        }
    }
}

impl Retryable for Refused {
    fn store_error(&self) -> Option<&StoreError> {
        if let Self::Api(error) = self { error.store_error() } else { None }
    }
}

/// Greets a person, but `bob`, who is on strike, and `eve`, who meets a bug.
async fn greet(
    State(stores): State<Stores>,
    Params(id): Params<PersonId>,
) -> Result<StatusCode, Refused> {
    retry(async |Attempt { reads, .. }| {
        match id.as_str() {
            "bob" => return Err(Refused::OnStrike),
            "eve" => Err(ApiError::Internal)?,
            _ => stores.reading(reads).person(&id).await?.ok_or(ApiError::NotFound("person"))?,
        };
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

fn greetings(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let greet = get("Greet", "/api/greetings/{personId}", AuthLevel::Anonymous, greet);
    let http_functions = bind(vec![greet], &Stores::new(context.cosmos));
    Ok(Domain { http_functions, ..Domain::new("greetings") })
}

struct Foreign;

impl AppUnderTest for Foreign {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        let program = Program::new("tributary", env!("CARGO_PKG_VERSION"));
        program.domain(rooms::domain).domain(greetings).errors::<Envelope>()
    }

    fn read_refusal(answer: &Answer, _: &str) -> Result<Vec<String>, String> {
        let body = serde_json::from_str::<Envelope>(&answer.text);
        body.map(|body| body.errors.into_keys().collect()).map_err(|error| error.to_string())
    }

    fn status_of(slug: &str, status: u16) -> u16 {
        if slug == "validation" { 422 } else { status }
    }
}

type World = tributary_testing::World<Foreign>;

#[tokio::test]
async fn each_refusal_has_the_form_of_the_app_and_the_headers_of_the_framework() {
    const JSON: Option<&str> = Some("application/json");
    let world = World::new().await;
    let room = ("PUT", "/api/rooms/r1");
    let ann = json!({"personId": "ann", "title": "T"});
    world.put("/api/people/ann", json!({"name": "Ann"})).await.expect(201);
    world.put(room.1, ann).await.expect(201);
    let eve = world.invoke("an-id", ("GET", "/api/greetings/eve")).await;
    assert_eq!(eve.json()["id"], "an-id");
    for (answer, status, field) in [
        (world.send_body(room, JSON, "{").await, 400, "request"),
        (world.put(room.1, json!({"personId": "ann"})).await, 422, "title"),
        (world.get("/api/rooms/r1?a=1&a=2").await, 422, "a"),
        (world.get("/api/rooms/r2").await, 404, "request"),
        (world.get("/api/nothing").await, 404, "request"),
        (world.delete("/api/newest-rooms").await, 405, "request"),
        (world.call("DELETE", room.1, &[("if-match", "\"0\"")], None).await, 412, "request"),
        (world.send_body(room, JSON, " ".repeat(1024 * 1024 + 1)).await, 413, "request"),
        (world.send_body(room, None, "{}").await, 415, "request"),
        (world.get("/api/greetings/ann").await.expect(204), 204, ""),
        (world.get("/api/greetings/zoe").await, 404, "request"),
        (world.get("/api/greetings/bob").await, 423, "request"),
        (eve, 500, "request"),
        (world.with_easyauth().await.delete(room.1).await, 401, "request"),
        (
            world
                .with_limits(Limits { store_requests: 0, ..Limits::REQUEST })
                .await
                .get("/api/greetings/zoe")
                .await,
            503,
            "request",
        ),
    ] {
        assert_eq!(answer.status, status, "{}", answer.text);
        if status > 204 {
            assert_eq!(Foreign::read_refusal(&answer, ""), Ok(vec![field.to_owned()]));
            assert_eq!(answer.header("content-type"), "application/json");
        }
        assert_eq!(answer.header("www-authenticate").is_empty(), status != 401);
        assert_eq!(answer.header("retry-after").is_empty(), status != 503);
        assert_eq!(answer.header("allow").is_empty(), status != 405);
        assert!(answer.header("cache-control").starts_with("no-"), "{answer:?}");
    }
}

#[test]
fn the_openapi_document_has_the_errors_of_the_app() {
    let app = Foreign::program().describe().unwrap();
    let document = OpenApiDocument::of::<Foreign>();
    document.has_every_function::<Foreign>();
    assert!(document.examples_fit() > 10);
    let put = app.http_functions().find(|function| function.name == "PutRoom").unwrap();
    let responses = &document.operation(put)["responses"];
    let of = |status| responses[status]["$ref"].as_str();
    assert_eq!((of("422"), of("400")), (Some("#/components/responses/Invalid"), of("422")));
    let problem = app.openapi()["components"]["responses"]["Problem"].to_string();
    assert!(problem.contains("#/components/schemas/Envelope") && !problem.contains("problem+json"));
}

#[tokio::test]
async fn the_generic_checks_read_the_errors_of_the_app() {
    checks::bad_requests_are_refused(&World::new().await).await;
    conditions::are_honoured::<Foreign>().await;
    checks::access_by_caller::<Foreign>().await;
}

/// Its checks expect an envelope, and it refuses by problem documents.
struct WithoutEnvelope;

impl AppUnderTest for WithoutEnvelope {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        Rooms::program()
    }

    fn read_refusal(answer: &Answer, slug: &str) -> Result<Vec<String>, String> {
        Foreign::read_refusal(answer, slug)
    }
}

#[tokio::test]
#[should_panic(expected = "PutPerson refuses in another form")]
async fn a_refusal_in_another_form_is_found() {
    let world = tributary_testing::World::<WithoutEnvelope>::new().await;
    checks::bad_requests_are_refused(&world).await;
}
