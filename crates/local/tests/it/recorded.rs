//! Requests of the real host, recorded in `tests/recorded/` and replayed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use tributary_local::host::wire::{page, read_answer};
use tributary_local::host::{HostOptions, InvocationFailure};

use crate::hosted::{Delivery, Hosted, post};
use crate::support::{
    Store, cosmos_function, function_of, host_json, settings_with, staged, timer_function,
};

fn recorded(file: &str) -> Value {
    let path = format!("{}/tests/recorded/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap()
}

/// Returns the fields of an object in their written form.
fn fields(object: &str) -> BTreeMap<String, Box<RawValue>> {
    serde_json::from_str(object).unwrap()
}

/// Writes whole numbers without a fraction, as the service does.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "within 64 bits")]
fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(write_whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(write_whole_numbers),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap();
            let is_whole = float.fract() == 0.0 && float.abs() <= i64::MAX as f64;
            if is_whole && (float != 0.0 || float.is_sign_positive()) {
                *value = json!(float as i64);
            }
        }
        _ => {}
    }
}

#[test]
fn every_item_gets_the_text_that_the_real_trigger_gave_it() {
    let recorded = recorded("trigger-texts.json");
    let mut without_dates = host_json();
    without_dates["extensions"]["cosmosDB"] =
        json!({ "serializerSettings": { "dateParseHandling": "None" } });
    let cases = [(host_json(), "delivered"), (without_dates, "delivered_without_date_parsing")];
    for (host, expected) in cases {
        let items = recorded["items"].as_array().unwrap();
        let stored = items.iter().map(|item| {
            let mut stored = serde_json::from_str(text(item, "stored")).unwrap();
            write_whole_numbers(&mut stored);
            stored
        });
        let function = function_of(&host, &cosmos_function());
        let page = page(&function, &stored.collect::<Vec<_>>()).unwrap();
        let delivered: Vec<Box<RawValue>> = serde_json::from_str(&page).unwrap();
        for (item, delivered) in items.iter().zip(delivered) {
            let delivered = fields(delivered.get());
            for (name, value) in fields(text(item, expected)) {
                let found = delivered.get(&name).map(|found| found.get());
                assert_eq!(found, Some(value.get()), "{name} of {}, {expected}", item["name"]);
            }
        }
    }
}

/// Starts a host with the functions of the record and triggers the invocations of the record.
async fn invocations() -> Vec<Delivery> {
    let store = Store::new(1).await;
    let server = store.endpoint.serve(0).await.unwrap();
    let settings = settings_with("CosmosConnection", &server.connection_string());
    let mut tick = timer_function("0 */5 * * * *");
    tick["bindings"][0]["runOnStartup"] = true.into();
    let folder = staged(&[("Feed", cosmos_function()), ("Tick", tick)]);
    let poll_delay = Some(Duration::from_millis(10));
    let quick = |options| HostOptions { retry_scale: 0.0, poll_delay, ..options };
    let hosted = Hosted::of(folder, &settings, quick).await;
    let mut sent = hosted.invoked(1).await;
    hosted.folder.answers(&json!({ "status": 500, "times": 3 }));
    let item = json!({ "type": "t", "a": "c6040cce-976e-4b16-b382-f19fc3e98081", "b": "true",
        "c": "null", "d": "1e5", "e": "NaN" });
    store.put("t-guid", item).await;
    sent.extend(hosted.invoked(4).await);
    post(&hosted.url("/admin/functions/Tick"), &json!({ "input": "" })).await;
    sent.extend(hosted.invoked(1).await);
    let bad = post(&hosted.url("/admin/functions/Feed"), &json!({ "input": "[" })).await;
    assert_eq!(bad.status, 400);
    hosted.host.stop().await;
    sent
}

fn by_name<'a>(lines: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let lines = lines.map(|line| line.split_once(": ").unwrap());
    lines.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect()
}

/// Replaces values that differ with every invocation by their kind.
fn masked(value: &Value) -> Value {
    match value {
        Value::String(text) => match OffsetDateTime::parse(text, &Rfc3339) {
            Ok(time) if time.year() > 1 => {
                // .NET omits trailing zeros, and a point without digits behind it.
                let (_, zone) = text.split_at(text.find(['Z', '+']).unwrap());
                let digits = text.trim_end_matches(zone);
                assert!(!digits.contains('.') || !digits.ends_with(['0', '.']), "{text}");
                format!("a time with {zone}").into()
            }
            _ if uuid::Uuid::parse_str(text).is_ok() => "an id".into(),
            _ => text.clone().into(),
        },
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (name.clone(), masked(field))).collect()
        }
        other => other.clone(),
    }
}

/// Cuts the stack traces of `sent` at the length of those of the record.
fn cut_like(sent: &mut Value, recorded: &Value) {
    match (sent, recorded) {
        (Value::String(sent), Value::String(recorded)) => {
            if let Some(start) = recorded.strip_suffix('…')
                && sent.starts_with(start)
            {
                sent.clone_from(recorded);
            }
        }
        (Value::Object(sent), Value::Object(recorded)) => {
            for (name, field) in sent {
                cut_like(field, &recorded[name]);
            }
        }
        _ => {}
    }
}

fn take_document(body: &mut Value) -> Option<Value> {
    let text = body["Data"]["documents"].take();
    let page: String = serde_json::from_str(text.as_str()?).unwrap();
    let documents: Vec<Value> = serde_json::from_str(&page).unwrap();
    assert_eq!(documents.len(), 1);
    documents.into_iter().next()
}

#[tokio::test]
async fn every_invocation_has_the_headers_and_the_body_that_the_real_host_sent() {
    let recorded = recorded("invocations.json");
    let recorded = recorded["invocations"].as_array().unwrap();
    let sent = invocations().await;
    assert_eq!(sent.len(), recorded.len());
    let id = |delivery: &Delivery| delivery.header("x-azure-functions-invocationid").to_owned();
    let mut data = Vec::new();
    for (sent, recorded) in sent.iter().zip(recorded) {
        let what = text(recorded, "request");
        assert_eq!(sent.line, what);
        let headers = by_name(sent.headers.iter().map(String::as_str));
        let mut expected = by_name(
            recorded["headers"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()),
        );
        // The port, the ids and the lengths differ each time.
        for name in ["host", "x-azure-functions-invocationid", "content-length"] {
            expected.insert(name.to_owned(), headers[name].clone());
        }
        assert_eq!(headers, expected, "{what}");

        let mut expected: Value = serde_json::from_str(text(recorded, "body")).unwrap();
        let mut body: Value = serde_json::from_str(&sent.body).unwrap();
        let exception = &body["Metadata"]["RetryContext"]["Exception"];
        assert!(exception.is_null() || exception["InstanceId"] == id(sent));
        data.push(body["Data"].clone());
        let document = take_document(&mut body);
        let expected_document = take_document(&mut expected);
        let shape = |document: Option<Value>| -> Option<BTreeSet<String>> {
            Some(document?.as_object()?.keys().cloned().collect())
        };
        assert_eq!(shape(document), shape(expected_document), "{what}");
        cut_like(&mut body, &expected);
        assert_eq!(masked(&body), masked(&expected), "{what}");
    }
    // A retry has the id and the batch of the first attempt, and an exception of several KB.
    for retry in 2..=4 {
        assert_eq!((id(&sent[retry]), &data[retry]), (id(&sent[1]), &data[1]));
    }
    let length = |n: usize| sent[n].header("content-length").parse::<f64>().unwrap();
    let of_record = |n: usize| recorded[n]["body_length"].as_f64().unwrap();
    let growth = (length(2) - length(1)) / (of_record(2) - of_record(1));
    assert!((growth - 1.0).abs() < 0.1, "{growth}");
}

#[test]
fn only_a_2xx_with_a_json_object_is_a_success() {
    let json = "application/json";
    let good = br#"{"Outputs":{},"Logs":["a",1],"ReturnValue":null}"#;
    let answer = read_answer(200, "application/json; charset=utf-8", good).unwrap();
    assert_eq!(answer.logs, ["a", "1"]);
    assert_eq!(read_answer(202, json, b"{}").unwrap().logs.len(), 0);

    assert_eq!(read_answer(500, json, good), Err(InvocationFailure::Status(500)));
    assert_eq!(read_answer(302, json, good), Err(InvocationFailure::Status(302)));
    for empty in [&b""[..], b" \n", b"null", b" null "] {
        assert_eq!(read_answer(200, json, empty), Err(InvocationFailure::Hang(200)));
    }
    assert_eq!(read_answer(204, "", b""), Err(InvocationFailure::Hang(204)));
    let text = "text/plain".to_owned();
    assert_eq!(
        read_answer(200, "text/plain", good),
        Err(InvocationFailure::ContentType(200, text))
    );
    for bad in [&b"[]"[..], b"{", b"\"x\"", br#"{"Outputs":1}"#, br#"{"Logs":"x"}"#] {
        assert!(matches!(read_answer(200, json, bad), Err(InvocationFailure::Body(200, _))));
    }
}
