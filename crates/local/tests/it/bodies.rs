//! Every case of `recorded/host-bodies.json`: bytes and pauses that the real host has received, what its handler
//! saw of them, and what came back. Then more of their kind, in `bodies.json`.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::future::{join, join_all, pending, select};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tributary_local::host::{HostOptions, Keys};

use crate::answers::{functions, known_to_differ};
use crate::hosted::{Delivery, Hosted, read, unchunked};
use crate::support::until;

const CONTINUE: &str = "HTTP/1.1 100 Continue";

/// The recorded times are whole seconds.
const TOLERANCE_S: f64 = 2.5;

/// Sends the steps, until the host closes the connection.
async fn send(stream: &mut (impl AsyncWrite + Unpin), steps: &Value) {
    for step in steps.as_array().unwrap() {
        if let Some(seconds) = step.as_f64() {
            sleep(Duration::from_secs_f64(seconds)).await;
            continue;
        }
        let text = step.as_str().or(step["repeat"].as_str()).unwrap();
        // Each character of the recording is a byte.
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let times = step["times"].as_u64().unwrap_or(1).try_into().unwrap();
        if stream.write_all(&bytes.repeat(times)).await.is_err() {
            return;
        }
    }
}

fn near(recorded_s: f64, seconds: f64) -> f64 {
    if (recorded_s - seconds).abs() < TOLERANCE_S { recorded_s } else { seconds }
}

fn text_of(delivery: &Delivery, recorded: &Delivery, begin_s: f64) -> String {
    let Delivery { line, headers, body, length, aborted, .. } = delivery;
    if let Some(left_s) = delivery.left_after_s {
        return format!("left after {}", near(recorded.left_after_s.unwrap_or(0.0), left_s));
    }
    // Of an early answer, nothing more was recorded.
    if recorded.line.is_empty() {
        return "a request".to_owned();
    }
    let own = ["x-azure-functions-", "x-forwarded-", "x-ms-invocation-id", "host: "];
    let headers = headers.iter().filter(|line| !own.iter().any(|own| line.starts_with(own)));
    let headers: BTreeSet<_> = headers.collect();
    // The recording has the begin of a long body, and the handler has replaced what is not UTF-8.
    let n_known = if recorded.body.is_ascii() { recorded.body.len() } else { 0 };
    let begin: String = body.chars().take(n_known).collect();
    let arrived_s = near(recorded.arrived_s, delivery.arrived_s - begin_s);
    let took_s = near(recorded.body_took_s, delivery.body_took_s);
    format!("{line} {headers:?} {length} {begin:?} {aborted} {arrived_s} {took_s}")
}

/// Plays a case on a host of its own, and returns its name, and what was recorded and what happened, if they
/// differ.
async fn difference(case: &Value) -> Option<(String, [Vec<String>; 2])> {
    let (name, steps) = (case["name"].as_str().unwrap(), &case["steps"]);
    let keys = Some(Keys::generate());
    let hosted = Hosted::with(&functions(), |options| HostOptions { keys, ..options }).await;
    hosted.folder.answers(case.get("handler_rule").unwrap_or(&Value::Object(<_>::default())));
    let mut stream = TcpStream::connect(hosted.address()).await.unwrap();
    let begin = Instant::now();
    let begin_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let (mut reader, mut writer) = stream.split();
    let (mut recorded, mut happened) = (vec![], vec![]);
    if let Some(after_s) = case["answer_after_s"].as_f64() {
        let answer = Box::pin(async {
            let mut first = [0; CONTINUE.len()];
            let n_bytes = reader.peek(&mut first).await.unwrap();
            let begun = String::from_utf8_lossy(&first[..n_bytes]) == CONTINUE;
            let after_s = near(after_s, begin.elapsed().as_secs_f64());
            (begun, after_s, read(&mut reader, name.starts_with("HEAD")).await)
        });
        // A client that has its answer sends no more.
        let sent = Box::pin(async {
            send(&mut writer, steps).await;
            pending().await
        });
        let (begun, got_after_s, answer) = select(answer, sent).await.factor_first().0;
        let [line, body] = ["line", "body"].map(|name| case["answer"][name].as_str());
        recorded.push(format!("{} after {after_s} s", line == Some(CONTINUE)));
        happened.push(format!("{begun} after {got_after_s} s"));
        let headers = case["answer"]["headers"].to_string();
        if !begun {
            happened.extend([answer.line, Value::from(answer.headers).to_string()]);
            recorded.extend([line.unwrap().to_owned(), headers.clone()]);
        }
        match body {
            Some("(chunks)") => assert!(answer.body.len() >= 2_000, "{name}"),
            Some(body) => {
                happened.push(answer.body);
                recorded.push(unchunked(body).unwrap_or_else(|| body.to_owned()));
            }
            None => {}
        }
        if headers.contains("connection: close") && case["stays"].is_null() {
            let end = timeout(Duration::from_secs(3), reader.read(&mut [0])).await;
            assert!(end.is_ok(), "{name}: the connection is open");
        }
    } else {
        send(&mut writer, steps).await;
        sleep(Duration::from_secs(1)).await;
        drop(stream);
    }
    let expected: Vec<Delivery> = serde_json::from_value(case["handler"].clone()).unwrap();
    let mut seen = Vec::new();
    until("the handler has seen all", async || {
        seen.extend(hosted.folder.deliveries());
        seen.len() >= expected.len()
    })
    .await;
    sleep(Duration::from_millis(200)).await;
    seen.extend(hosted.folder.deliveries());
    hosted.host.stop().await;
    let nothing = Delivery::default();
    recorded.extend(expected.iter().map(|recorded| text_of(recorded, recorded, 0.0)));
    let seen = seen.iter().enumerate();
    happened
        .extend(seen.map(|(n, one)| text_of(one, expected.get(n).unwrap_or(&nothing), begin_s)));
    (recorded != happened).then(|| (name.to_owned(), [recorded, happened]))
}

/// Plays all cases side by side, since some take seconds, and returns those that differ.
async fn differing(cases: &str, n_cases: usize) -> Vec<(String, [Vec<String>; 2])> {
    let file: Value = serde_json::from_str(cases).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), n_cases);
    join_all(cases.iter().map(difference)).await.into_iter().flatten().collect()
}

#[tokio::test]
async fn every_body_is_forwarded_answered_refused_and_cut_off_as_by_the_host() {
    let recorded = differing(include_str!("../recorded/host-bodies.json"), 26);
    let more = differing(include_str!("bodies.json"), 24);
    let (recorded, more) = join(recorded, more).await;
    let names: Vec<_> = recorded.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, known_to_differ("recorded bytes"), "{recorded:#?}");
    assert!(more.is_empty(), "{more:#?}");
}
