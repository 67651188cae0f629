//! The OpenAPI document says of each function what the app takes and what it answers. The stories of
//! budgets hold each answer that they get against it ([`check`]).

use std::{cmp::Reverse, collections::BTreeSet, process::Command, sync::LazyLock};

use serde_json::{Value, json};
use tributary_functions::http::HttpFunction;

use crate::{
    costs::budget,
    world::{Answer, World},
};

const HANDLER: &str = env!("CARGO_BIN_EXE_tributary");

/// The document, as the command prints it.
fn document() -> Value {
    let output = Command::new(HANDLER).arg("openapi").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| tributary::program().describe().unwrap().openapi());

/// The body of a function with this text in each field, and the user in `userId`; `None` if it has none.
pub(crate) fn body(function: &HttpFunction, user: &str, text: &str) -> Option<Value> {
    let body = operation(&DOCUMENT, function).get("requestBody")?;
    let fields = body["content"]["application/json"]["schema"]["properties"].as_object()?.keys();
    let value = |field: &str| Value::from(if field == "userId" { user } else { text });
    Some(fields.map(|field| (field.clone(), value(field))).collect())
}

/// The status of a function that does what it is asked for: 201 where it may create.
pub(crate) fn status(function: &HttpFunction) -> u16 {
    let responses = operation(&DOCUMENT, function)["responses"].as_object().unwrap().keys();
    let good = responses.filter(|status| status.starts_with('2'));
    good.map(|status| status.parse().unwrap()).max().unwrap()
}

/// The path of a function for a user and a post; `None` when it names anything else.
pub(crate) fn path(function: &HttpFunction, user: &str, post: &str) -> Option<String> {
    let path = function.route.replace("{userId}", user).replace("{postId}", post);
    (!path.contains('{')).then_some(path)
}

/// Panics if the document does not have this answer.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, answer: &Answer) {
    let segments = |path: &str| path.split('/').map(str::to_owned).collect::<Vec<_>>();
    let asked = segments(path.split('?').next().unwrap());
    let fits = |route: &String| {
        let route = segments(route);
        let mut pairs = route.iter().zip(&asked);
        route.len() == asked.len() && pairs.all(|(own, other)| own.starts_with('{') || own == other)
    };
    let (route, operations) =
        DOCUMENT["paths"].as_object().unwrap().iter().find(|(route, _)| fits(route)).unwrap();
    let responses = &operations[&method.to_lowercase()]["responses"];
    let response = &responses[answer.status.as_str()];
    assert!(response.is_object(), "{method} {route} has no {} in {responses}", answer.status);
    let content = response["content"].as_object();
    let Some((media_type, content)) = content.and_then(|content| content.iter().next()) else {
        assert!(answer.text.is_empty(), "{method} {route}: {}", answer.text);
        return;
    };
    assert_eq!(answer.header("content-type"), media_type, "{method} {route}");
    let difference = difference(&content["schema"], &answer.json());
    assert_eq!(difference, None, "{method} {route}: {}", answer.text);
}

/// Returns where a value is not as a schema says; a field that the schema does not name is none of it.
fn difference(schema: &Value, value: &Value) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        return difference(DOCUMENT.pointer(&reference[1..]).unwrap(), value);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let differences: Vec<_> = choices.iter().map(|one| difference(one, value)).collect();
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
    let in_elements = elements.filter_map(|element| difference(schema.get("items")?, element));
    let fields = value.as_object().into_iter().flatten();
    let in_fields = fields.filter_map(|(name, value)| {
        let own = schema.get("properties")?;
        let own = own.get(name).ok_or_else(|| format!("{name} is not in the schema"));
        own.map_or_else(Some, |own| difference(own, value))
    });
    let required = schema["required"].as_array().into_iter().flatten();
    let missing = required.filter(|name| value.get(name.as_str().unwrap()).is_none());
    let missing = missing.map(|name| format!("{name} is missing"));
    in_elements.chain(in_fields).chain(missing).next()
}

/// Returns the example of a schema: that of its type, or one of each of its parts.
fn example(schema: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return example(DOCUMENT.pointer(&reference[1..]).unwrap());
    }
    let of_type = ["examples", "enum", "anyOf", "oneOf"].into_iter().find_map(|name| {
        let first = schema[name].get(0)?;
        Some(if name.ends_with("Of") { example(first) } else { first.clone() })
    });
    if let Some(own) = of_type.or_else(|| schema.get("const").cloned()) {
        return own;
    }
    let names = &schema["type"];
    if names.as_array().is_some_and(|names| names.iter().any(|name| name == "null")) {
        return Value::Null;
    }
    match names.as_str() {
        Some("object") => {
            let fields = schema["properties"].as_object().into_iter().flatten();
            fields.map(|(name, field)| (name.clone(), example(field))).collect()
        }
        Some("array") => json!([example(&schema["items"])]),
        Some("boolean") => json!(true),
        Some("integer" | "number") => json!(1),
        _ => panic!("no example in {schema}"),
    }
}

#[test]
fn each_answer_has_an_example_that_is_as_its_schema_says() {
    let paths = DOCUMENT["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    let responses = operations.filter_map(|operation| operation["responses"].as_object());
    let responses: Vec<&Value> = responses.flat_map(|all| all.values()).collect();
    let problem = &DOCUMENT["components"]["responses"]["Problem"];
    let contents = responses.into_iter().chain([problem]);
    let contents = contents.filter_map(|response| response["content"].as_object());
    let mut examples = 0;
    for content in contents.flat_map(|content| content.values()) {
        let (schema, example) = (&content["schema"], example(&content["schema"]));
        assert_eq!(difference(schema, &example), None, "{example}");
        examples += 1;
    }
    assert!(examples > 40);
}

#[tokio::test]
async fn the_app_takes_what_the_document_gives_as_examples() {
    let world = World::new().await;
    let mut functions = World::http_functions();
    functions.retain(|function| function.method == "PUT" || function.method == "POST");
    functions.sort_by_key(|function| Reverse(function.method.to_string()));
    let mut taken = BTreeSet::new();
    // In the second round there is what others need.
    for function in [&functions, &functions].into_iter().flatten() {
        let operation = operation(&DOCUMENT, function);
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        let parameters = DOCUMENT["paths"][function.route]["parameters"].as_array().unwrap().iter();
        let path = parameters.fold(function.route.to_owned(), |path, parameter| {
            let name = format!("{{{}}}", parameter["name"].as_str().unwrap());
            path.replace(&name, example(&parameter["schema"]).as_str().unwrap())
        });
        let body = body.is_object().then(|| example(body));
        let answer = world.call(function.method.as_str(), &path, &[], body).await;
        if answer.status.is_success() {
            check(function.method.as_str(), &path, &answer);
            taken.insert(function.name);
        }
        let status = answer.status.as_u16();
        assert!(matches!(status, 200..300 | 404 | 409), "{}: {}", function.name, answer.text);
    }
    let names = functions.iter().map(|function| function.name);
    let others: Vec<_> = names.filter(|name| !taken.contains(name)).collect();
    // The name is taken: by the user of the example. And there is no dead letter.
    assert_eq!(others, ["CreateUser", "ReplayDeadLetter"]);
}

#[test]
fn an_answer_that_is_not_in_the_document_is_found() {
    let post = json!({"$ref": "#/components/schemas/Like"});
    let like = json!({"id": "l", "postId": "p", "userId": "u", "userUsername": "U",
        "creationDate": "2026-11-23T00:00:00.000Z"});
    assert_eq!(difference(&post, &like), None);
    for (field, value) in [("id", json!(5)), ("secret", json!("s")), ("postId", Value::Null)] {
        let mut other = like.clone();
        other[field] = value;
        assert!(difference(&post, &other).is_some(), "{other}");
    }
    let page = json!({"$ref": "#/components/schemas/LikePage"});
    assert!(difference(&page, &json!({"items": [like]})).unwrap().contains("nextCursor"));
}

#[tokio::test]
async fn the_app_serves_its_document_and_a_caller_who_has_it_gets_nothing_new() {
    let world = World::new().await;
    let served = world.get("/api/openapi.json").await.expect(200);
    assert_eq!(served.json(), document());
    let known = [("if-none-match", served.header("etag"))];
    world.call("GET", "/api/openapi.json", &known, None).await.expect(304);
    budget(&world, ("GET", "/api/openapi.json", None), "0 requests, 0.00 RU: ").await;
}

/// The operation of a function.
fn operation<'a>(document: &'a Value, function: &HttpFunction) -> &'a Value {
    &document["paths"][function.route][function.method.as_str().to_lowercase()]
}

/// The names of an operation's parameters in one place.
fn parameters(operation: &Value, place: &str) -> BTreeSet<String> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    let here = all.filter(|parameter| parameter["in"] == place);
    here.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_function_has_its_operation_and_every_operation_its_function() {
    let (document, functions) = (document(), World::http_functions());
    for function in &functions {
        let operation = operation(&document, function);
        assert_eq!(operation["operationId"], function.name);
        let asks_for_key = operation["security"].as_array().is_some_and(|keys| !keys.is_empty());
        assert_eq!(asks_for_key, format!("{:?}", function.auth_level) == "Function");
        let of_path = parameters(&document["paths"][function.route], "path");
        let of_route = function.route.split('{').skip(1);
        let of_route = of_route.map(|rest| rest.split('}').next().unwrap().to_owned());
        assert_eq!(of_path, of_route.collect(), "{}", function.name);
    }
    let paths = document["paths"].as_object().unwrap().values();
    let methods = paths.flat_map(|path| path.as_object().unwrap().keys());
    assert_eq!(methods.filter(|name| *name != "parameters").count(), functions.len());
}

#[tokio::test]
async fn a_body_that_lacks_a_field_is_refused_with_its_name() {
    let (document, world) = (document(), World::new().await);
    let mut bodies = 0;
    for function in World::http_functions() {
        let operation = operation(&document, &function);
        let Some(body) = operation.get("requestBody") else { continue };
        let schema = &body["content"]["application/json"]["schema"];
        let required = schema["required"].as_array().unwrap().iter();
        let required: BTreeSet<&str> = required.map(|field| field.as_str().unwrap()).collect();
        let path = function.route.replace(['{', '}'], "");
        let method = function.method.as_str();
        let answer = world.call(method, &path, &[], Some(json!({}))).await.expect(400);
        let problem = answer.json();
        let errors = problem["errors"].as_array().unwrap().iter();
        let named: BTreeSet<&str> = errors.map(|one| one["field"].as_str().unwrap()).collect();
        assert_eq!(named, required, "{}", function.name);
        bodies += 1;
    }
    assert!(bodies > 0);
}
