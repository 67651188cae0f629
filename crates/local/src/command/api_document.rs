//! The OpenAPI document of an app: its domains, and an example of each request.

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The depth of a schema at which an example ends: a schema may refer to itself.
const MAX_DEPTH: usize = 16;

pub(super) struct ApiDocument(pub(super) Value);

pub(super) struct ApiOperation<'a> {
    document: &'a ApiDocument,
    pub(super) method: Method,
    /// The route, such as `/api/posts/{postId}`.
    pub(super) route: &'a str,
    parameters: &'a Value,
    operation: &'a Value,
}

impl ApiDocument {
    /// Returns the domains in the order of the app, each with the functions that no request starts.
    pub(super) fn domains(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.0["tags"].as_array().into_iter().flatten().filter_map(|tag| {
            let functions = tag["x-functions"].as_array().into_iter().flatten();
            Some((tag["name"].as_str()?, functions.filter_map(Value::as_str).collect()))
        })
    }

    pub(super) fn operations(&self) -> impl Iterator<Item = ApiOperation<'_>> {
        let paths = self.0["paths"].as_object().into_iter().flatten();
        paths.flat_map(move |(route, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.filter_map(move |(method, operation)| {
                operation.get("operationId")?;
                Some(ApiOperation {
                    document: self,
                    method: method.to_uppercase().parse().ok()?,
                    route,
                    parameters: &item["parameters"],
                    operation,
                })
            })
        })
    }

    pub(super) fn operation(&self, function: &str) -> Option<ApiOperation<'_>> {
        self.operations().find(|operation| operation.name() == function)
    }

    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let reference = value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.and_then(|pointer| self.0.pointer(pointer)).unwrap_or(value)
    }

    fn example(&self, schema: &Value) -> Value {
        example_of(&self.0, schema, &|_| json!("text"))
    }
}

/// Returns an example of a schema in an OpenAPI document: its own, or one made of the examples of its parts.
/// `text` makes that of a text without one.
pub fn example_of(document: &Value, schema: &Value, text: &dyn Fn(&Value) -> Value) -> Value {
    example_at(document, schema, text, 0)
}

fn example_at(
    document: &Value,
    schema: &Value,
    text: &dyn Fn(&Value) -> Value,
    depth: usize,
) -> Value {
    if depth > MAX_DEPTH {
        return Value::Null;
    }
    let part = |schema: &Value| example_at(document, schema, text, depth + 1);
    let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
    if let Some(referred) = reference.and_then(|pointer| document.pointer(pointer)) {
        return part(referred);
    }
    let given = [&schema["example"], &schema["const"], &schema["examples"][0], &schema["enum"][0]];
    if let Some(given) = given.into_iter().find(|given| !given.is_null()) {
        return given.clone();
    }
    let choices = [&schema["anyOf"][0], &schema["oneOf"][0]];
    if let Some(choice) = choices.into_iter().find(|choice| !choice.is_null()) {
        return part(choice);
    }
    match schema["type"].as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, field)| (name.clone(), part(field))).collect()
        }
        Some("array") => json!([part(&schema["items"])]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        Some("string") => text(schema),
        _ => Value::Null,
    }
}

impl ApiOperation<'_> {
    pub(super) fn name(&self) -> &str {
        self.operation["operationId"].as_str().unwrap_or_default()
    }

    pub(super) fn domain(&self) -> Option<&str> {
        self.operation["tags"][0].as_str()
    }

    pub(super) fn example_path(&self) -> String {
        let segments = self.route.split('/').map(|segment| {
            let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
            name.map_or_else(|| segment.to_owned(), |name| self.path_value(name))
        });
        segments.collect::<Vec<_>>().join("/")
    }

    pub(super) fn example_body(&self) -> Option<Value> {
        let body = self.document.resolved(self.operation.get("requestBody")?);
        let schema = body["content"].get("application/json")?.get("schema")?;
        Some(self.document.example(schema))
    }

    fn path_value(&self, name: &str) -> String {
        let of_operation = self.operation["parameters"].as_array().into_iter().flatten();
        let of_path = self.parameters.as_array().into_iter().flatten();
        let mut all =
            of_operation.chain(of_path).map(|parameter| self.document.resolved(parameter));
        let parameter =
            all.find(|parameter| parameter["in"] == "path" && parameter["name"] == name);
        let value = match parameter {
            Some(parameter) if !parameter["example"].is_null() => parameter["example"].clone(),
            Some(parameter) => self.document.example(&parameter["schema"]),
            None => Value::Null,
        };
        let text = match &value {
            Value::Null => name.to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        utf8_percent_encode(&text, ESCAPED).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The story of `invoke` has the examples of a document.
    #[test]
    fn the_example_of_a_schema_that_refers_to_itself_ends_and_a_path_is_escaped() {
        let document = ApiDocument(json!({
            "paths": { "/api/rooms/{roomId}": {
                "parameters": [{ "in": "path", "name": "roomId", "schema": { "examples": ["room 1"] } }],
                "put": { "operationId": "PutRoom", "tags": ["rooms"] },
            } },
            "room": { "type": "array", "items": { "$ref": "#/room" } },
        }));
        let operation = document.operation("PutRoom").unwrap();
        assert_eq!((operation.method.as_str(), operation.domain()), ("PUT", Some("rooms")));
        assert_eq!(operation.example_path(), "/api/rooms/room%201");
        assert!(document.example(&json!({ "$ref": "#/room" })).is_array());
    }
}
