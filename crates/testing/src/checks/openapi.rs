//! Checks of the OpenAPI document against the app: its description of each function, and the function's
//! requests and answers.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use tributary_functions::http::HttpFunction;
use tributary_local::command::example_of;

use crate::{Answer, AppUnderTest};

/// The OpenAPI document of an app.
#[derive(Debug, Clone)]
pub struct OpenApiDocument(Value);

impl OpenApiDocument {
    /// Returns the document of an app.
    pub fn of<A: AppUnderTest>() -> Self {
        Self(A::program().describe().unwrap().openapi())
    }

    /// Returns the operation of a function.
    pub fn operation(&self, function: &HttpFunction) -> &Value {
        &self.0["paths"][function.route][function.method.as_str().to_lowercase()]
    }

    /// Returns the schema of the body that a function takes; `None` where it takes none.
    pub fn body(&self, function: &HttpFunction) -> Option<&Value> {
        let body = self.operation(function).get("requestBody")?;
        Some(&body["content"]["application/json"]["schema"])
    }

    /// Returns the status of a successful answer of a function: 201 where the function may create.
    pub fn status(&self, function: &HttpFunction) -> u16 {
        let responses = self.operation(function)["responses"].as_object().unwrap().keys();
        let successful = responses.filter(|status| status.starts_with('2'));
        successful.map(|status| status.parse().unwrap()).max().unwrap()
    }

    /// Panics if the document does not have this answer.
    #[track_caller]
    pub fn check(&self, method: &str, path: &str, answer: &Answer) {
        let (route, operation) = self.operation_at(method, path);
        let responses = &operation["responses"];
        let response = &responses[answer.status.as_str()];
        assert!(response.is_object(), "{method} {route} has no {} in {responses}", answer.status);
        let content = response["content"].as_object();
        let Some((media_type, content)) = content.and_then(|content| content.iter().next()) else {
            assert!(answer.text.is_empty(), "{method} {route}: {}", answer.text);
            return;
        };
        assert_eq!(answer.header("content-type"), media_type, "{method} {route}");
        let difference = self.difference(&content["schema"], &answer.json());
        assert_eq!(difference, None, "{method} {route}: {}", answer.text);
    }

    /// Returns the route of a path, and the operation there.
    pub fn operation_at(&self, method: &str, path: &str) -> (&str, &Value) {
        let path = path.split('?').next().unwrap();
        let n_segments = path.split('/').count();
        let fits = |route: &str| {
            let mut pairs = route.split('/').zip(path.split('/'));
            route.split('/').count() == n_segments
                && pairs.all(|(own, other)| own.starts_with('{') || own == other)
        };
        let mut paths = self.0["paths"].as_object().unwrap().iter();
        let (route, operations) = paths.find(|(route, _)| fits(route)).unwrap();
        (route, &operations[&method.to_lowercase()])
    }

    /// Returns the first difference of a value from a schema; a field that the schema does not name is one.
    pub fn difference(&self, schema: &Value, value: &Value) -> Option<String> {
        if let Some(reference) = schema["$ref"].as_str() {
            return self.difference(self.referred(reference), value);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let differences: Vec<_> =
                choices.iter().map(|choice| self.difference(choice, value)).collect();
            return differences.into_iter().min().flatten();
        }
        let is = |name: &Value| match name.as_str() {
            Some("null") => value.is_null(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => true,
        };
        let is_of_type = match &schema["type"] {
            Value::Array(names) => names.iter().any(is),
            name => is(name),
        };
        if !is_of_type {
            return Some(format!("{value} is no {}", schema["type"]));
        }
        let elements = value.as_array().into_iter().flatten();
        let in_elements =
            elements.filter_map(|element| self.difference(schema.get("items")?, element));
        let fields = value.as_object().into_iter().flatten();
        let in_fields = fields.filter_map(|(name, value)| {
            let own = schema.get("properties")?;
            let own = own.get(name).ok_or_else(|| format!("{name} is not in the schema"));
            own.map_or_else(Some, |own| self.difference(own, value))
        });
        let required = schema["required"].as_array().into_iter().flatten();
        let missing = required.filter(|name| value.get(name.as_str().unwrap()).is_none());
        let missing = missing.map(|name| format!("{name} is missing"));
        in_elements.chain(in_fields).chain(missing).next()
    }

    /// Returns the example of a schema: that of its type, or one of each of its parts.
    pub fn example(&self, schema: &Value) -> Value {
        example_of(&self.0, schema, &|schema| {
            panic!("no example in {schema}: write `#[schemars(example = …)]` at its type")
        })
    }

    /// Returns a value of a schema with other texts. Dates and choices stay.
    pub(super) fn with_texts(
        &self,
        schema: &Value,
        value: Value,
        replaced: &mut dyn FnMut(&Value, &str) -> String,
    ) -> Value {
        let schema = match schema["$ref"].as_str() {
            Some(reference) => self.referred(reference),
            None => schema,
        };
        let schema = schema["anyOf"].get(0).unwrap_or(schema);
        match value {
            Value::String(text) => {
                let is_date =
                    schema["format"].as_str().is_some_and(|format| format.starts_with("date"));
                let is_choice = schema.get("enum").or(schema.get("const")).is_some();
                Value::String(if is_date || is_choice { text } else { replaced(schema, &text) })
            }
            Value::Array(values) => {
                let values = values.into_iter();
                values.map(|element| self.with_texts(&schema["items"], element, replaced)).collect()
            }
            Value::Object(mut members) => {
                for (name, member) in &mut members {
                    let schema = &schema["properties"][name];
                    *member = self.with_texts(schema, member.take(), replaced);
                }
                Value::Object(members)
            }
            other => other,
        }
    }

    fn referred(&self, reference: &str) -> &Value {
        let found = reference.strip_prefix('#').and_then(|path| self.0.pointer(path));
        found.unwrap_or_else(|| {
            panic!(
                "A schema refers to `{reference}`, which the document does not have. Write \
                 `#[schemars(inline)]` at its type."
            )
        })
    }

    /// Checks that every function has its operation, with its key and the parameters of its route, and that
    /// every operation has its function. The copies in an answer are those of projections of the app, and only
    /// queries have some.
    pub fn has_every_function<A: AppUnderTest>(&self) {
        let app = A::program().describe().unwrap();
        for function in app.http_functions() {
            let name = function.name;
            let is_unknown = |name: &&&str| app.projections().by_function(name).is_none();
            let unknown = function.copies_of.iter().find(is_unknown);
            assert_eq!(unknown, None, "{name} reads copies of no projection");
            let is_query = function.method == "GET" || function.copies_of.is_empty();
            assert!(is_query, "{name} is a command, and waits for nothing");
            let operation = self.operation(function);
            assert_eq!(operation["operationId"], name);
            let asks_for_key = operation["security"].as_array().is_some_and(|schemes| {
                schemes.iter().any(|scheme| scheme.get("keyHeader").is_some())
            });
            assert_eq!(asks_for_key, function.auth_level.needs_key(), "{name}");
            let of_path: BTreeSet<_> =
                self.path_parameters(function).map(|(name, _)| name).collect();
            let of_route = function.route.split('{').skip(1);
            let of_route = of_route.map(|rest| rest.split('}').next().unwrap());
            assert_eq!(of_path, of_route.collect::<BTreeSet<_>>(), "{name}");
        }
        let operations = self.paths().flat_map(Map::keys).filter(|name| *name != "parameters");
        assert_eq!(operations.count(), app.http_functions().count());
    }

    fn paths(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.0["paths"].as_object().unwrap().values().filter_map(Value::as_object)
    }

    pub(super) fn path_parameters<'a>(
        &'a self,
        function: &HttpFunction,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
        let all = self.0["paths"][function.route]["parameters"].as_array().into_iter().flatten();
        let of_path = all.filter(|parameter| parameter["in"] == "path");
        of_path.map(|parameter| (parameter["name"].as_str().unwrap(), &parameter["schema"]))
    }

    /// Checks that each answer has an example that fits its schema. Returns the number of examples.
    pub fn examples_fit(&self) -> usize {
        let operations = self.paths().flat_map(Map::values);
        let responses = operations.filter_map(|operation| operation["responses"].as_object());
        let problem = &self.0["components"]["responses"]["Problem"];
        let responses = responses.flat_map(Map::values).chain([problem]);
        let contents = responses.filter_map(|response| response["content"].as_object());
        let check = |content: &Value| {
            let example = self.example(&content["schema"]);
            assert_eq!(self.difference(&content["schema"], &example), None, "{example}");
        };
        contents.flat_map(Map::values).map(check).count()
    }
}
