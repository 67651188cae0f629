//! The HTTP functions as an OpenAPI 3.1 document: paths, methods and keys from the tables, parameters,
//! bodies and answers from the signatures of the handlers.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{Arc, OnceLock},
};

use axum::{
    extract::State,
    http::{Method, StatusCode},
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::{
    Map, Value, json,
    value::{RawValue, to_raw_value},
};
use twox_hash::XxHash64;

use crate::{
    brand::brand,
    cosmos::ETag,
    http::{
        AnswerShape, ApiError, Conditions, ErrorBody, ErrorForm, FunctionLine, ItemResponse,
        Problem, Refusal, RequestShape, found, path_parameters,
    },
};

pub(super) const DOCUMENT_BYTES: usize = 512 * 1024;

pub(super) struct OpenApiDocument {
    /// The HTTP functions, each with the name of its domain.
    pub functions: Vec<(&'static str, FunctionLine)>,
    /// The domains, each with the functions that the change feed or a schedule starts, for `cargo local`.
    pub domains: Vec<(&'static str, Vec<&'static str>)>,
    /// Measured costs, as JSON.
    pub costs: &'static str,
    pub errors: ErrorForm,
    /// The security scheme of users.
    pub scheme: Value,
    /// True if the app has a sign-in of its own.
    pub has_sign_in: bool,
    pub text: OnceLock<(OpenApiText, ETag)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OperationCost {
    /// The name of the request in the documents of the app; empty where it has none.
    request: String,
    case: String,
    store_requests: u32,
    request_units: f64,
}

/// The refusals of most functions: the status and the slug, a name and a text.
#[rustfmt::skip]
const REFUSALS: [(u16, &str, &str, &str); 9] = [
    (400, "malformed-body",      "Invalid",            INVALID),
    (400, "validation",          "Invalid",            INVALID),
    (401, "no-key",              "NoKey",              "The function key is missing or wrong."),
    (404, "not-found",           "NotFound",           "It does not exist, or something that the request names does not."),
    (409, "conflict",            "Conflict",           "It is in the way of something that is there."),
    (412, "precondition-failed", "PreconditionFailed", "The item is not in the state of `If-Match` or `If-None-Match`, or the function takes neither."),
    (413, "body-too-large",      "TooLarge",           "The body is too large."),
    (429, "throttled",           "TooManyRequests",    "Too many requests. Retry after the seconds in `Retry-After`."),
    (503, "unavailable",         "Unavailable",        "The store does not answer. Retry after the seconds in `Retry-After`."),
];

const INVALID: &str = "The request is not valid. `errors` names each value that is not.";

/// An OpenAPI 3.1 document.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct OpenApiText(#[schemars(with = "Map<String, Value>")] Box<RawValue>);

pub(super) async fn get_open_api(
    State(document): State<Arc<OpenApiDocument>>,
    conditions: Conditions,
) -> Result<ItemResponse<OpenApiText>, ApiError> {
    let (text, etag) = if let Some(known) = document.text.get() {
        known
    } else {
        let text = to_raw_value(&document.value()).map_err(|_| ApiError::Internal)?;
        let etag = format!("\"{:016x}\"", XxHash64::oneshot(0, text.get().as_bytes()));
        document.text.get_or_init(|| (OpenApiText(text), etag.into()))
    };
    Ok(found(&conditions, text, etag))
}

impl OpenApiDocument {
    pub(super) fn value(&self) -> Value {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let schemas = &mut settings.into_generator();
        let mut paths: Map<String, Value> = Map::new();
        let costs = self.costs();
        for (tag, function) in &self.functions {
            let takes = function.signature.takes();
            // They are the same for all methods of a path.
            let parameters = path_parameters(function.route, &takes.path);
            let path =
                paths.entry(function.route).or_insert_with(|| json!({"parameters": parameters}));
            let costs = costs.get(function.name).map_or(&[][..], Vec::as_slice);
            path[function.method.as_str().to_lowercase()] =
                operation(self, tag, function, takes, costs, schemas);
        }
        let problem = (self.errors.schema)(schemas);
        let media_type = self.errors.content_type;
        let refusal = |description: &str| json!({"description": description, "content": {media_type: {"schema": problem}}});
        let what = if media_type == Problem::CONTENT_TYPE {
            "problem document (RFC 9457)"
        } else {
            "refusal"
        };
        let problems = format!("A {what}. A 429 and a 503 have `Retry-After`.");
        let refusals = REFUSALS.into_iter().map(|(status, _, name, text)| {
            // The host refuses a key, before the handler sees the request.
            let refused = if status == 401 { json!({"description": text}) } else { refusal(text) };
            (name.to_owned(), refused)
        });
        let refusals = refusals.chain([("Problem".to_owned(), refusal(&problems))]);
        let text = json!({"type": "string"});
        let header = |description: &str| json!({"description": description, "schema": text});
        let in_header = |name: &str, description: &str| json!({"name": name, "in": "header", "description": description, "schema": text});
        let token =
            "The token of an earlier answer: this one sees at least the writes that it knows.";
        let tag = |(name, functions): &_| json!({"name": name, "x-functions": functions});
        let tags: Value = self.domains.iter().map(tag).collect();
        json!({
            "openapi": "3.1.0",
            "info": {"title": brand().name, "version": brand().version},
            "servers": [{"url": "/"}],
            "tags": tags,
            "paths": paths,
            "components": {
                "schemas": schemas.take_definitions(true),
                "responses": refusals.collect::<Map<_, _>>(),
                "parameters": {
                    "ConsistencyToken": in_header("Consistency-Token", token),
                    "PreferWait": in_header("Prefer", "`wait=` and seconds: the longest wait for projections, with a token."),
                    "PreferCookie": in_header("Prefer", "`consistency-cookie`: the token is a cookie, too."),
                },
                "headers": {
                    "CopiesBehind": header("`?1` if the copies may lack writes that the token knows."),
                    "PreferenceApplied": header("The longest wait that was taken: `wait=` and seconds."),
                    "ConsistencyToken": header("The writes that the caller has seen, for later requests."),
                    "CacheControl": header("`no-store` where a key is needed, or copies are behind. Otherwise `no-cache`: the answer may be kept, and is used after a 304. It varies with the token."),
                    "ETag": header("The tag of the item's state; of an answer without an item, that of its bytes."),
                    "Location": header("The path of the new item."),
                    "RequestCharge": header("The request units that the answer cost."),
                },
                "securitySchemes": {
                    "keyHeader": {"type": "apiKey", "in": "header", "name": "x-functions-key"},
                    "keyParameter": {"type": "apiKey", "in": "query", "name": "code"},
                    "user": self.scheme,
                },
            },
        })
    }

    fn costs(&self) -> BTreeMap<String, Vec<OperationCost>> {
        serde_json::from_str(self.costs).unwrap_or_else(|error| {
            tracing::error!(%error, "The costs of the OpenAPI document are not valid");
            BTreeMap::new()
        })
    }
}

fn operation(
    document: &OpenApiDocument,
    tag: &str,
    function: &FunctionLine,
    mut takes: RequestShape,
    costs: &[OperationCost],
    schemas: &mut SchemaGenerator,
) -> Value {
    if function.method == Method::GET && !function.signature.is_conditional {
        let rule = "ETags of earlier answers: one of them is a 304.";
        takes.parameter("header", "If-None-Match", rule);
    }
    let mut operation = json!({
        "operationId": function.name,
        "tags": [tag],
        "security": security(document, function),
        "responses": responses(document, function, &takes, function.signature.gives(schemas)),
    });
    if let [first, ..] = costs {
        operation["summary"] = summary(first).into();
        operation["description"] = description(costs).into();
    }
    let parameter = |name: &str| json!({"$ref": format!("#/components/parameters/{name}")});
    let mut parameters = takes.parameters;
    parameters.push(parameter("ConsistencyToken"));
    if function.method != Method::GET {
        parameters.push(parameter("PreferCookie"));
    } else if !function.copies_of.is_empty() {
        parameters.push(parameter("PreferWait"));
    }
    operation["parameters"] = parameters.into();
    if let Some(schema) = takes.body {
        let content = json!({"application/json": {"schema": schema}});
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
}

fn responses(
    document: &OpenApiDocument,
    function: &FunctionLine,
    takes: &RequestShape,
    AnswerShape { body, is_item }: AnswerShape,
) -> Value {
    let header = |name: &str| json!({"$ref": format!("#/components/headers/{name}")});
    let problem = json!({"$ref": "#/components/responses/Problem"});
    let mut responses = json!({"4XX": problem, "5XX": problem});
    let is_command = function.method != Method::GET;
    let has_path = function.route.contains('{');
    for (status, slug, name, _) in REFUSALS {
        let is_possible = match status {
            400 => has_path || takes.body.is_some() || !takes.parameters.is_empty(),
            401 => function.auth_level.needs_key(),
            404 => has_path,
            409 | 412 => is_command,
            413 => takes.body.is_some(),
            _ => true,
        };
        if is_possible {
            let status = StatusCode::from_u16(status).unwrap_or_default();
            let status = (document.errors.status)(&Refusal::new(status, slug, "", ""));
            responses[status.as_str()] = json!({"$ref": format!("#/components/responses/{name}")});
        }
    }
    let mut headers = json!({"Cache-Control": header("CacheControl")});
    headers["x-ms-request-charge"] = header("RequestCharge");
    if function.method != Method::GET {
        headers["Consistency-Token"] = header("ConsistencyToken");
    } else if !function.copies_of.is_empty() {
        headers["Copies-Behind"] = header("CopiesBehind");
        headers["Preference-Applied"] = header("PreferenceApplied");
    }
    let Some(schema) = body else {
        responses["204"] = json!({"description": "It is done.", "headers": headers});
        return responses;
    };
    let is_query = function.method == Method::GET;
    if is_item || is_query {
        headers["ETag"] = header("ETag");
    }
    let content = json!({"application/json": {"schema": schema}});
    responses["200"] =
        json!({"description": "It is done.", "headers": headers, "content": content});
    if is_query {
        responses["304"] = json!({"description": "The answer has a tag of `If-None-Match`."});
    }
    if is_item && !is_query && !function.signature.is_edit {
        headers["Location"] = header("Location");
        let created = "The item is created.";
        responses["201"] = json!({"description": created, "headers": headers, "content": content});
    }
    responses
}

/// The user is optional where the handler takes none, too, or where the app has to be set up for users.
fn security(document: &OpenApiDocument, function: &FunctionLine) -> Value {
    let level = function.auth_level;
    let keys = ["keyHeader", "keyParameter"].map(|key| json!({key: []}));
    let alone = if level.needs_key() { keys.to_vec() } else { vec![json!({})] };
    let with_user = alone.iter().cloned().map(|mut key| {
        key["user"] = json!([]);
        key
    });
    let needs_user = level.needs_user() && (document.has_sign_in || !level.needs_key());
    match (needs_user, level.needs_user() || function.signature.is_personal) {
        (true, _) => with_user.collect(),
        (false, true) => [alone.clone(), with_user.collect()].concat().into(),
        (false, false) if level.needs_key() => alone.into(),
        (false, false) => json!([]),
    }
}

fn summary(cost: &OperationCost) -> String {
    let OperationCost { request, store_requests, request_units, .. } = cost;
    let s = if *store_requests == 1 { "" } else { "s" };
    let name = if request.is_empty() { String::new() } else { format!("{request}: ") };
    format!("{name}{store_requests} store request{s}, {request_units:.2} RU")
}

fn description(costs: &[OperationCost]) -> String {
    let mut text = String::from(
        "The measured cost, by the rules of the local endpoint:\n\n\
         | case | store requests | request units |\n| --- | ---: | ---: |\n",
    );
    for OperationCost { case, store_requests, request_units, .. } in costs {
        let case = if case.is_empty() { "-" } else { case };
        // A write to a String cannot fail.
        let _ = writeln!(text, "| {case} | {store_requests} | {request_units:.2} |");
    }
    text
}
