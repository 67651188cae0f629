//! The parts of a request that handlers take, as OpenAPI describes them.

use axum::{
    extract::{RawQuery, State},
    http::HeaderMap,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::{
    Actor, Conditions, Filter, Form, FromForm, ItemCommand, JsonBody, PageRequest, Params,
    QueryParameter,
};
use crate::{engines::idempotency::IdempotencyKey, values::CommandId};

/// The parts of a request that a handler takes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestShape {
    /// Parameters of the query string and headers, as OpenAPI has them.
    pub parameters: Vec<Value>,
    /// The schema of the path parameters: that of the only one, or of the tuple of all.
    pub path: Value,
    /// The schema of the body.
    pub body: Option<Value>,
    /// True if the item has an ETag, and the request may have conditions.
    pub is_conditional: bool,
    /// True if the caller acts for a user.
    pub has_actor: bool,
}

/// An argument of a handler.
pub trait HandlerArgument {
    /// Adds the parts of a request that the argument takes.
    fn describe(takes: &mut RequestShape);
}

impl RequestShape {
    pub(super) fn query(&mut self, QueryParameter { name, rule, example }: QueryParameter) {
        let schema = json!({"type": "string"});
        let mut parameter =
            json!({"name": name, "in": "query", "description": rule, "schema": schema});
        if let Some(example) = example {
            parameter["example"] = example.into();
        }
        self.parameters.push(parameter);
    }

    fn header(&mut self, name: &str, description: &str) {
        let schema = json!({"type": "string"});
        let parameter =
            json!({"name": name, "in": "header", "description": description, "schema": schema});
        self.parameters.push(parameter);
    }
}

/// No part of the request: the id comes from a header that the host sets.
impl HandlerArgument for CommandId {
    fn describe(_: &mut RequestShape) {}
}

impl<S> HandlerArgument for State<S> {
    fn describe(_: &mut RequestShape) {}
}

/// The types of the path parameters. Their names are in the route, their rule in [`Params`].
impl<T: JsonSchema> HandlerArgument for Params<T> {
    fn describe(takes: &mut RequestShape) {
        takes.path = T::json_schema(&mut SchemaGenerator::default()).to_value();
    }
}

/// No part here: the function's line in the table names its query parameters.
impl HandlerArgument for RawQuery {
    fn describe(_: &mut RequestShape) {}
}

/// No part of the request: headers that the host sets.
impl HandlerArgument for HeaderMap {
    fn describe(_: &mut RequestShape) {}
}

impl HandlerArgument for Actor {
    fn describe(takes: &mut RequestShape) {
        takes.has_actor = true;
    }
}

impl HandlerArgument for Conditions {
    fn describe(takes: &mut RequestShape) {
        takes.is_conditional = true;
        takes.header("If-Match", "ETags, or `*`: the item must be in one of these states.");
        takes.header("If-None-Match", "ETags, or `*`: the item must be in none of these states.");
    }
}

impl HandlerArgument for ItemCommand {
    fn describe(takes: &mut RequestShape) {
        Conditions::describe(takes);
    }
}

impl HandlerArgument for Option<IdempotencyKey> {
    fn describe(takes: &mut RequestShape) {
        let rule =
            "1 to 255 printable ASCII characters. The same key and body have the same outcome.";
        takes.header("Idempotency-Key", rule);
    }
}

impl<T: FromForm, const LIMIT: usize> HandlerArgument for JsonBody<T, LIMIT> {
    fn describe(takes: &mut RequestShape) {
        let mut schema = Form::schema_of::<T>();
        schema["description"] = json!(format!("At most {LIMIT} bytes. Other fields are ignored."));
        takes.body = Some(schema);
    }
}

impl<K, F: Filter> HandlerArgument for PageRequest<K, F> {
    fn describe(takes: &mut RequestShape) {
        let limit = "The number of items of a page: 1 to 100, by default 20.";
        let cursor = "The `nextCursor` of the same list with the same filter.";
        takes.query(QueryParameter::new("limit", limit).example("20"));
        takes.query(QueryParameter::new("cursor", cursor));
        for parameter in F::PARAMETERS {
            takes.query(*parameter);
        }
    }
}
