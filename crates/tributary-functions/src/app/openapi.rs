//! The HTTP functions as an OpenAPI 3.1 document: paths, methods and keys from the tables, parameters
//! and bodies from the arguments of the handlers.
//!
//! A schema says of an answer what the framework knows: a problem document, a page of a list. The fields
//! of items are those of the domains, and the document leaves them open.

use axum::http::Method;
use serde_json::{Map, Value, json};

use super::App;
use crate::{
    brand::brand,
    http::{AuthLevel, HttpFunction, Takes, path_parameters},
};

impl App {
    /// Returns the OpenAPI document of all HTTP functions.
    pub fn openapi(&self) -> Value {
        let mut paths: Map<String, Value> = Map::new();
        let of_domains = self.domains.iter().flat_map(|domain| {
            domain.http_functions.iter().map(move |function| (domain.name, function))
        });
        let shared = self.shared.iter().map(|function| ("dead-letters", function));
        for (tag, function) in of_domains.chain(shared) {
            let path = paths.entry(function.route);
            // They are the same for all methods of a path.
            let path =
                path.or_insert_with(|| json!({"parameters": path_parameters(function.route)}));
            path[function.method.as_str().to_lowercase()] = operation(tag, function);
        }
        json!({
            "openapi": "3.1.0",
            "info": {"title": brand().name, "version": brand().version},
            "servers": [{"url": "/"}],
            "paths": paths,
            "components": {
                "schemas": {"Problem": problem(), "Page": page()},
                "responses": {"Problem": {
                    "description": "A problem document (RFC 9457). A 429 and a 503 have `Retry-After`.",
                    "content": {"application/problem+json": {"schema": schema("Problem")}},
                }},
                "headers": {
                    "ETag": {"description": "The tag of the item's state.", "schema": text()},
                    "RequestCharge": {
                        "description": "The request units that the answer cost.",
                        "schema": text(),
                    },
                },
                "securitySchemes": {
                    "keyHeader": {"type": "apiKey", "in": "header", "name": "x-functions-key"},
                    "keyParameter": {"type": "apiKey", "in": "query", "name": "code"},
                    "user": {
                        "type": "http",
                        "scheme": "bearer",
                        "description": "App Service Authentication, where the app is set up for it.",
                    },
                },
            },
        })
    }
}

fn operation(tag: &str, function: &HttpFunction) -> Value {
    let takes = function.takes();
    let mut operation = json!({
        "operationId": function.name,
        "tags": [tag],
        "security": security(function.auth_level, &takes),
        "responses": responses(&function.method, &takes),
    });
    if !takes.parameters.is_empty() {
        operation["parameters"] = takes.parameters.into();
    }
    if let Some(schema) = takes.body {
        let content = json!({"application/json": {"schema": schema}});
        operation["requestBody"] = json!({"required": true, "content": content});
    }
    operation
}

/// The function key, in one of two places; and a user, where the app is set up for it.
fn security(auth_level: AuthLevel, takes: &Takes) -> Value {
    let keys = ["keyHeader", "keyParameter"];
    let alone = keys.map(|key| json!({key: []}));
    match auth_level {
        AuthLevel::Anonymous => json!([]),
        AuthLevel::Function if takes.has_actor => {
            let with_user = keys.map(|key| json!({key: [], "user": []}));
            [alone, with_user].concat().into()
        }
        AuthLevel::Function => alone.to_vec().into(),
    }
}

fn responses(method: &Method, takes: &Takes) -> Value {
    let mut headers =
        json!({"x-ms-request-charge": {"$ref": "#/components/headers/RequestCharge"}});
    if takes.is_conditional && method != Method::DELETE {
        headers["ETag"] = json!({"$ref": "#/components/headers/ETag"});
    }
    let schema = if takes.is_list { schema("Page") } else { json!({"type": "object"}) };
    let json = json!({"application/json": {"schema": schema}});
    let problem = json!({"$ref": "#/components/responses/Problem"});
    let mut responses = json!({
        "2XX": {
            "description": "The function was carried out. A 204 has no body.",
            "headers": headers,
            "content": json,
        },
        "4XX": problem,
        "5XX": problem,
    });
    if takes.is_conditional && method == Method::GET {
        responses["304"] = json!({"description": "The item is in a state of `If-None-Match`."});
    }
    responses
}

fn problem() -> Value {
    let number = json!({"type": "integer"});
    let bad_field = json!({
        "type": "object",
        "properties": {"field": text(), "message": text()},
        "required": ["field", "message"],
    });
    json!({
        "type": "object",
        "properties": {
            "type": text(),
            "title": text(),
            "status": number,
            "detail": text(),
            "errors": {"type": "array", "items": bad_field},
            "invocationId": text(),
        },
        "required": ["type", "title", "status"],
    })
}

fn page() -> Value {
    let next = json!({
        "type": ["string", "null"],
        "description": "The `cursor` of the next page; null on the last page.",
    });
    json!({
        "type": "object",
        "properties": {"items": {"type": "array", "items": {"type": "object"}}, "nextCursor": next},
        "required": ["items", "nextCursor"],
    })
}

fn schema(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn text() -> Value {
    json!({"type": "string"})
}
