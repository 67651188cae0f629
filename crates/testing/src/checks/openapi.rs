//! Checks of the OpenAPI document against the app: its description of each function, and the function's
//! requests and answers.

use std::collections::BTreeSet;

use serde_json::Value;
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

    /// Returns the document as JSON.
    pub fn value(&self) -> &Value {
        &self.0
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

    /// Returns the fields that a body for a function needs, in alphabetical order; `None` where it takes
    /// none.
    pub fn required_fields(&self, function: &HttpFunction) -> Option<Vec<&str>> {
        let required = self.body(function)?["required"].as_array()?.iter();
        let mut fields: Vec<&str> = required.filter_map(Value::as_str).collect();
        fields.sort_unstable();
        Some(fields)
    }

    /// Returns the status of a successful answer of a function: 201 where the function may create.
    ///
    /// # Panics
    ///
    /// When the function has no successful answer in the document.
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
    ///
    /// # Panics
    ///
    /// When the document has no such path.
    pub fn operation_at(&self, method: &str, path: &str) -> (&str, &Value) {
        let segments = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
        let asked = segments(path.split('?').next().unwrap());
        let fits = |route: &str| {
            let route = segments(route);
            let mut pairs = route.iter().zip(&asked);
            route.len() == asked.len()
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
    ///
    /// # Panics
    ///
    /// When a text has no example.
    pub fn example(&self, schema: &Value) -> Value {
        example_of(&self.0, schema, &|schema| panic!("no example in {schema}"))
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
                let is_choice = ["enum", "const"].iter().any(|name| schema.get(name).is_some());
                Value::String(if is_date || is_choice { text } else { replaced(schema, &text) })
            }
            Value::Array(values) => {
                let values = values.into_iter();
                values.map(|element| self.with_texts(&schema["items"], element, replaced)).collect()
            }
            Value::Object(members) => {
                let members = members.into_iter().map(|(name, one)| {
                    let value = self.with_texts(&schema["properties"][&name], one, replaced);
                    (name, value)
                });
                members.collect()
            }
            other => other,
        }
    }

    fn referred(&self, reference: &str) -> &Value {
        self.0.pointer(&reference[1..]).unwrap()
    }

    /// Checks that every function has its operation, with its key and the parameters of its route, and that
    /// every operation has its function. The copies in an answer are those of projections of the app, and only
    /// queries have some.
    pub fn has_every_function<A: AppUnderTest>(&self) {
        let app = A::program().describe().unwrap();
        let functions: Vec<_> = app.http_functions().cloned().collect();
        for function in &functions {
            let is_unknown = |name: &&&str| app.projections().by_function(name).is_none();
            let unknown = function.copies_of.iter().find(is_unknown);
            assert_eq!(unknown, None, "{} reads copies of no projection", function.name);
            let is_query = function.method == "GET" || function.copies_of.is_empty();
            assert!(is_query, "{} is a command, and waits for nothing", function.name);
        }
        for function in &functions {
            let operation = self.operation(function);
            assert_eq!(operation["operationId"], function.name);
            let asks_for_key =
                operation["security"].as_array().is_some_and(|keys| !keys.is_empty());
            assert_eq!(asks_for_key, function.auth_level.needs_key(), "{}", function.name);
            let of_path = self.path_parameters(function).map(|(name, _)| name);
            let of_route = function.route.split('{').skip(1);
            let of_route = of_route.map(|rest| rest.split('}').next().unwrap());
            assert_eq!(
                of_path.collect::<BTreeSet<_>>(),
                of_route.collect::<BTreeSet<_>>(),
                "{}",
                function.name
            );
        }
        let paths = self.0["paths"].as_object().unwrap().values();
        let methods = paths.flat_map(|path| path.as_object().unwrap().keys());
        assert_eq!(methods.filter(|name| *name != "parameters").count(), functions.len());
    }

    /// Returns the names and schemas of the parameters in the path of a function.
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
        let paths = self.0["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|path| path.as_object().unwrap().values());
        let responses = operations.filter_map(|operation| operation["responses"].as_object());
        let responses: Vec<&Value> = responses.flat_map(|all| all.values()).collect();
        let problem = &self.0["components"]["responses"]["Problem"];
        let contents = responses.into_iter().chain([problem]);
        let contents = contents.filter_map(|response| response["content"].as_object());
        let mut examples = 0;
        for content in contents.flat_map(|content| content.values()) {
            let schema = &content["schema"];
            let example = self.example(&content["schema"]);
            assert_eq!(self.difference(schema, &example), None, "{example}");
            examples += 1;
        }
        examples
    }
}
