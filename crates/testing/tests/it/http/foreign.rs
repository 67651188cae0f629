//! The rooms with errors and a sign-in of their own, under the generic checks.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, request::Parts},
    middleware::map_response,
    response::Response,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_functions::{
    audit::async_trait,
    config::ConfigError,
    cosmos::{Limits, Retryable, StoreError, retry},
    domain::{Context, Domain, bind},
    http::{Actor, ApiError, AuthLevel, ErrorBody, FieldError, Params, Refusal, SignIn, get, post},
    program::Program,
};
use tributary_testing::{
    Answer, AppUnderTest,
    checks::{self, openapi::OpenApiDocument},
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
    retry(async |_| {
        match id.as_str() {
            "bob" => return Err(Refused::OnStrike),
            "eve" => Err(ApiError::Internal)?,
            _ => stores.person(&id).await?.ok_or(ApiError::NotFound("person"))?,
        };
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Invites a person, whom it reads before the attempts.
async fn invite(
    State(stores): State<Stores>,
    Params(id): Params<PersonId>,
) -> Result<StatusCode, ApiError> {
    let person = stores.person(&id).await?;
    retry(async |_| match &person {
        Some(_) => Ok(StatusCode::NO_CONTENT),
        None => Err(ApiError::NotFound("person")),
    })
    .await
}

async fn wave(actor: Actor, Params(id): Params<PersonId>) -> Result<StatusCode, ApiError> {
    actor.must_be(id.as_str()).map(|()| StatusCode::NO_CONTENT)
}

async fn who_am_i(actor: Option<Actor>) -> Json<Vec<PersonId>> {
    let id = actor.as_ref().and_then(Actor::user_id);
    Json(id.and_then(|id| PersonId::parse(id.to_owned()).ok()).into_iter().collect())
}

fn greetings(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let done = async || StatusCode::NO_CONTENT;
    let done_by = async |_: Actor| StatusCode::NO_CONTENT;
    let functions = vec![
        get("Greet", "/api/greetings/{personId}", AuthLevel::Anonymous, greet),
        post("Wave", "/api/greetings/{personId}", AuthLevel::KeylessOwner, wave),
        post("Invite", "/api/invitations/{personId}", AuthLevel::Public, invite),
        get("WhoAmI", "/api/me", AuthLevel::Anonymous, who_am_i),
        post("Visit", "/api/visits", AuthLevel::Public, done),
        post("Wish", "/api/wishes", AuthLevel::KeylessUser, done_by),
    ];
    let http_functions = bind(functions, &Stores::new(context.cosmos));
    Ok(Domain { http_functions, ..Domain::new("greetings") })
}

/// Bearer tokens such as `ann.signed`.
struct Tokens;

#[async_trait]
impl SignIn for Tokens {
    async fn caller(&self, request: &Parts) -> Result<Option<Actor>, ApiError> {
        let Some(header) = request.headers.get("authorization") else { return Ok(None) };
        let token = header.to_str().ok().and_then(|text| text.strip_prefix("Bearer "));
        let user = token.and_then(|token| token.strip_suffix(".signed"));
        Actor::user(user.ok_or(ApiError::Unauthorized("The token is not valid."))?).map(Some)
    }
}

async fn served_by(mut answer: Response) -> Response {
    answer.headers_mut().insert("x-served-by", HeaderValue::from_static("rooms"));
    answer
}

struct Foreign;

impl AppUnderTest for Foreign {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        let program = Program::new("tributary", env!("CARGO_PKG_VERSION"));
        let program = program.domain(rooms::domain).domain(greetings);
        let program = program.errors::<Envelope>().sign_in(|_| Ok(Arc::new(Tokens)));
        program.layer(|router| router.layer(map_response(served_by)))
    }

    const USER: Option<&'static str> = Some("ann");

    fn sign_in(user: &str) -> Vec<(&'static str, String)> {
        vec![("authorization", format!("Bearer {user}.signed"))]
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
        (world.as_caller(None).delete(room.1).await, 401, "request"),
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
        assert_eq!(answer.header("x-served-by"), "rooms", "it is in the layer of the app");
    }
}

#[tokio::test]
async fn a_refusal_that_rests_on_a_read_before_the_attempts_is_confirmed() {
    let world = World::new().await;
    let _frozen = world.stale_reads("people");
    world.put("/api/people/ann", json!({"name": "Ann"})).await.expect(201);
    let other = world.second_instance().await;
    other.call("POST", "/api/invitations/ann", &[], None).await.expect(204);
}

#[tokio::test]
async fn a_token_signs_a_caller_in_where_the_line_and_the_handler_ask_for_one() {
    let world = World::new().await;
    for (method, path, user, status) in [
        ("GET", "/api/me", None, 200),
        ("POST", "/api/visits", None, 204),
        ("POST", "/api/wishes", None, 401),
        ("POST", "/api/wishes", Some("bob"), 204),
        ("POST", "/api/greetings/ann", Some("bob"), 403),
        ("POST", "/api/greetings/ann", Some("ann"), 204),
        ("POST", "/api/greetings/ann", Some("no user"), 403),
    ] {
        world.as_caller(user).call(method, path, &[], None).await.expect(status);
    }
    let me = world.get("/api/me").await.expect(200);
    assert_eq!((me.text.as_str(), me.header("cache-control")), (r#"["ann"]"#, "no-store"));
    let forged = [("authorization", "Bearer ann.forged")];
    world.call("GET", "/api/me", &forged, None).await.expect(401);
}

#[tokio::test]
async fn without_a_sign_in_a_caller_without_a_key_acts_for_no_user() {
    let world = tributary_testing::World::<Bare>::new().await;
    world.call("POST", "/api/wishes", &[], None).await.expect(401);
    assert_eq!(world.get("/api/me").await.expect(200).text, "[]");
}

#[test]
fn the_openapi_document_has_the_errors_and_the_sign_in_of_the_app() {
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
    let declarations = app.declarations();
    for (name, security, n_levels) in [
        ("PutRoom", json!([{"keyHeader": [], "user": []}, {"keyParameter": [], "user": []}]), 0),
        ("WhoAmI", json!([{}, {"user": []}]), 1),
        ("Visit", json!([]), 1),
        ("Wish", json!([{"user": []}]), 1),
    ] {
        let function = app.http_functions().find(|function| function.name == name).unwrap();
        assert_eq!(document.operation(function)["security"], security, "{name}");
        let declared = declarations.iter().find(|declared| declared.name == name).unwrap();
        let text = declared.function_json().unwrap();
        assert_eq!(text.matches("\"authLevel\": \"anonymous\"").count(), n_levels, "{name}");
    }
}

#[tokio::test]
async fn the_generic_checks_read_the_errors_of_the_app_and_sign_in() {
    checks::bad_requests_are_refused(&World::new().await).await;
    checks::access_by_caller::<Foreign>().await;
}

/// The same functions without errors and a sign-in of their own.
struct Bare;

impl AppUnderTest for Bare {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        Rooms::program().domain(greetings)
    }

    fn read_refusal(answer: &Answer, slug: &str) -> Result<Vec<String>, String> {
        Foreign::read_refusal(answer, slug)
    }
}

#[tokio::test]
#[should_panic(expected = "PutPerson refuses in another form")]
async fn a_refusal_in_another_form_is_found() {
    let world = tributary_testing::World::<Bare>::new().await;
    checks::bad_requests_are_refused(&world).await;
}
