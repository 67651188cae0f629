use base64::{Engine, prelude::BASE64_STANDARD};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn vectors() -> Vec<Json> {
    let text = include_str!("../../../tests/dotnet/hybridrow-vectors.json");
    serde_json::from_str(text).expect("JSON")
}

fn bytes(vector: &Json) -> Vec<u8> {
    BASE64_STANDARD.decode(vector["bytes"].as_str().expect("text")).expect("base64")
}

/// A body as the vectors show it: text, or base64 of what is none.
fn body(bytes: &[u8]) -> Json {
    match from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({"base64": BASE64_STANDARD.encode(bytes)}),
    }
}

fn shown(operation: Operation) -> Json {
    let number = match operation.kind {
        Kind::Create => 0,
        Kind::Patch => 1,
        Kind::Read => 2,
        Kind::Delete => 4,
        Kind::Replace => 5,
        Kind::Upsert => 20,
        other => panic!("{other:?}"),
    };
    let mut shown = json!({"operationType": number, "resourceType": 2});
    for (name, text) in [
        ("id", operation.id),
        ("partitionKey", operation.partition_key),
        ("ifMatch", operation.if_match),
        ("ifNoneMatch", operation.if_none_match),
    ] {
        if let Some(text) = text {
            shown[name] = text.into();
        }
    }
    if !operation.body.is_empty() {
        shown["resourceBody"] = body(&operation.body);
    }
    if operation.minimal {
        shown["minimalReturnPreference"] = true.into();
    }
    shown
}

fn results(bytes: &[u8]) -> Option<Vec<Json>> {
    let shown = |record: &[u8]| {
        let Row { fixed, variable, mut sparse } = Row::read(record, BATCH_RESULT, 2)?;
        let mut shown = json!({});
        for (name, number) in ["statusCode", "subStatusCode"].into_iter().zip(fixed) {
            shown[name] = number.unwrap_or_default().into();
        }
        for (name, bytes) in ["eTag", "resourceBody"].into_iter().zip(variable) {
            if let Some(bytes) = bytes {
                shown[name] = body(bytes);
            }
        }
        (shown["retryAfterMilliseconds"], shown["requestCharge"]) = (0.into(), 0.0.into());
        while !sparse.0.is_empty() {
            let (_, path, value) = sparse.sparse(6)?;
            match path {
                Path::Token(5) | Path::Name(b"retryAfterMilliseconds") => {
                    let number = u32::from_le_bytes(value.try_into().ok()?);
                    shown["retryAfterMilliseconds"] = number.into();
                }
                Path::Token(6) | Path::Name(b"requestCharge") => {
                    shown["requestCharge"] = f64::from_le_bytes(value.try_into().ok()?).into();
                }
                _ => {}
            }
        }
        Some(shown)
    };
    records(bytes)?.into_iter().map(shown).collect()
}

fn outcome(result: &Json) -> Outcome {
    let number = |name: &str| result[name].as_u64().unwrap_or_default();
    let text = |name: &str| result[name].as_str().map(str::to_owned);
    Outcome {
        status: u16::try_from(number("statusCode")).expect("a status"),
        sub_status: u32::try_from(number("subStatusCode")).expect("a number"),
        etag: text("eTag"),
        body: match result["resourceBody"]["base64"].as_str() {
            Some(base64) => Some(BASE64_STANDARD.decode(base64).expect("base64")),
            None => text("resourceBody").map(String::into_bytes),
        },
        retry_after_ms: u32::try_from(number("retryAfterMilliseconds")).expect("a number"),
        charge: result["requestCharge"].as_f64().unwrap_or_default(),
    }
}

#[test]
fn every_request_of_the_dotnet_sdk_is_read() {
    let mut n_read = 0;
    for vector in vectors().iter().filter(|vector| vector["kind"] == "request") {
        let operations = read(&bytes(vector)).unwrap_or_else(|error| panic!("{error}: {vector}"));
        let expected = vector["meaning"]["operations"].as_array().expect("a list");
        assert_eq!(operations.len(), expected.len());
        for (operation, expected) in operations.into_iter().zip(expected) {
            let mut expected = expected.clone();
            // What the store does not need.
            let unused =
                ["indexingDirective", "timeToLiveInSeconds", "binaryId", "effectivePartitionKey"];
            for name in unused {
                expected.as_object_mut().expect("an object").remove(name);
            }
            assert_eq!(shown(operation), expected, "{}", vector["name"]);
        }
        n_read += 1;
    }
    assert_eq!(n_read, 30);
}

#[test]
fn the_dotnet_sdk_reads_what_is_written() {
    let mut n_read = 0;
    for vector in vectors().iter().filter(|vector| vector["kind"] == "answer") {
        let name = vector["name"].as_str().expect("text");
        let read = results(&bytes(vector));
        n_read += 1;
        if ["answer-bad-crc", "answer-wrong-schema", "answer-truncated"].contains(&name) {
            assert_eq!(read, None, "{name}");
            continue;
        }
        let expected = vector["meaning"]["results"].as_array().expect("a list");
        let with_defaults = |mut result: Json| {
            for name in ["statusCode", "subStatusCode", "retryAfterMilliseconds"] {
                result[name] = result[name].as_u64().unwrap_or_default().into();
            }
            result["requestCharge"] = result["requestCharge"].as_f64().unwrap_or_default().into();
            result
        };
        let expected: Vec<Json> = expected.iter().cloned().map(with_defaults).collect();
        assert_eq!(read.as_ref(), Some(&expected), "{name}");
        let outcomes: Vec<Outcome> = expected.iter().map(outcome).collect();
        let written = write(&outcomes);
        assert_eq!(results(&written).as_ref(), Some(&expected), "{name}");
        if name == "answer-independent" {
            // The first record is complete, so it is the same to the last byte.
            let end = 10 + 13 + 0x2e;
            assert_eq!(written.get(..end), bytes(vector).get(..end), "{name}");
        }
    }
    assert_eq!(n_read, 31);
}

#[test]
fn a_batch_is_read_up_to_one_operation_above_the_limit() {
    let hundred = vectors().into_iter().find(|v| v["name"] == "request-hundred");
    let mut batch = bytes(&hundred.expect("a vector"));
    let record = batch[10..10 + 13 + 0x29].to_vec();
    batch.extend(record.repeat(2));
    assert_eq!(read(&batch).unwrap().len(), MAX_OPERATIONS + 1);
    assert_eq!(read(&batch[..10]), Ok(vec![]));
}

proptest! {
    #[test]
    fn changed_bytes_never_panic(
        which in 0..61_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = bytes(&vectors()[which]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = results(&bytes);
        let _ = read(&bytes);
        // Without the records and their check sums.
        let _ = operation(bytes.get(23..).unwrap_or_default());
        let _ = read(&bytes[..end.index(bytes.len())]);
    }
}
