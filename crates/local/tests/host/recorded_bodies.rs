//! Every case of `recorded/host-bodies.json`: bytes and pauses that the real host has received, what its handler
//! saw of them, and what came back. Then more of their kind, in `bodies.json`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use futures::future::{join_all, pending, select};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::io::{AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tributary_local::host::{HostOptions, Keys};

use crate::recorded_http::{functions, known_to_differ};
use crate::recorder::{Delivery, Recorder, read, unchunked};
use crate::support::until;

#[derive(Deserialize)]
struct Case {
    name: String,
    steps: Vec<Step>,
    #[serde(default)]
    handler_rule: Map<String, Value>,
    answer: Expected,
    answer_after_s: Option<f64>,
    #[serde(default)]
    stays: bool,
    handler: Vec<Delivery>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Step {
    Text(String),
    Pause(f64),
    Repeat { repeat: String, times: usize },
}

#[derive(Deserialize)]
struct Expected {
    line: String,
    headers: Vec<String>,
    #[serde(default)]
    body: String,
}

const CONTINUE: &str = "HTTP/1.1 100 Continue";

/// The recorded times are whole seconds.
const TOLERANCE_S: f64 = 2.5;

/// Sends the steps, until the host closes the connection.
async fn send(stream: &mut (impl AsyncWrite + Unpin), steps: &[Step]) {
    for step in steps {
        let text = match step {
            Step::Pause(seconds) => {
                sleep(Duration::from_secs_f64(*seconds)).await;
                continue;
            }
            Step::Text(text) => text.clone(),
            Step::Repeat { repeat, times } => repeat.repeat(*times),
        };
        // Each character of the recording is a byte.
        let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Returns the recorded time if this one is near.
fn near(recorded_s: f64, seconds: f64) -> f64 {
    if (recorded_s - seconds).abs() < TOLERANCE_S { recorded_s } else { seconds }
}

fn text_of(delivery: &Delivery, recorded: &Delivery, begin_s: f64) -> String {
    if let Some(left_s) = delivery.left_after_s {
        return format!("left after {}", near(recorded.left_after_s.unwrap_or(0.0), left_s));
    }
    // Of an early answer, nothing more was recorded.
    if recorded.line.is_empty() {
        return "a request".to_owned();
    }
    let Delivery { line, headers, body, length, aborted, .. } = delivery;
    let own = ["x-azure-functions-", "x-forwarded-", "x-ms-invocation-id"];
    let headers = headers.iter().filter(|line| !own.iter().any(|own| line.starts_with(own)));
    let mut headers: Vec<_> = headers
        .map(|line| if line.starts_with("host: ") { "host: {handler}" } else { line })
        .collect();
    headers.sort_unstable();
    // The recording has the begin of a long body, and the handler has replaced what is not UTF-8.
    let n_known = if recorded.body.is_ascii() { recorded.body.len() } else { 0 };
    let begin: String = body.chars().take(n_known).collect();
    let arrived_s = near(recorded.arrived_s, delivery.arrived_s - begin_s);
    let took_s = near(recorded.body_took_s, delivery.body_took_s);
    format!("{line} {headers:?} {length} {begin:?} {aborted} {arrived_s} {took_s}")
}

/// Plays a case on a host of its own, and returns what was recorded and what happened, if they differ.
async fn difference(case: &Case) -> Option<[Vec<String>; 2]> {
    let keys = Some(Keys::generate());
    let recorder =
        Recorder::start_with(&functions(), |options| HostOptions { keys, ..options }).await;
    recorder.answers(&case.handler_rule.clone().into());
    let mut stream = TcpStream::connect(recorder.address()).await.unwrap();
    let begin = Instant::now();
    let begin_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let (mut reader, mut writer) = stream.split();
    let Expected { line, headers, body } = &case.answer;
    let (mut recorded, mut happened) = (vec![], vec![]);
    if let Some(after_s) = case.answer_after_s {
        let answer = Box::pin(async {
            let mut first = [0; CONTINUE.len()];
            let n_bytes = reader.peek(&mut first).await.unwrap();
            let begun = String::from_utf8_lossy(&first[..n_bytes]) == CONTINUE;
            let after_s = near(after_s, begin.elapsed().as_secs_f64());
            (begun, after_s, read(&mut reader, case.name.starts_with("HEAD")).await)
        });
        // A client that has its answer sends no more.
        let steps = Box::pin(async {
            send(&mut writer, &case.steps).await;
            pending().await
        });
        let (begun, got_after_s, answer) = select(answer, steps).await.factor_first().0;
        recorded.push(format!("{} after {after_s} s", line == CONTINUE));
        happened.push(format!("{begun} after {got_after_s} s"));
        if !begun {
            let is_own = |line: &&String| !line.starts_with("date: ");
            let got: Vec<_> = answer.headers.iter().filter(is_own).collect();
            // Of some bodies, nothing or only their chunks were recorded.
            let is_known = !body.is_empty() && (body != "(chunks)" || answer.body.is_empty());
            let known = if is_known { answer.body } else { body.clone() };
            happened.extend([answer.line, format!("{got:?}"), known]);
            let body = unchunked(body).unwrap_or_else(|| body.clone());
            recorded.extend([line.clone(), format!("{headers:?}"), body]);
        }
        if headers.iter().any(|line| line == "connection: close") && !case.stays {
            let end = timeout(Duration::from_secs(3), reader.read(&mut [0])).await;
            assert!(end.is_ok(), "{}: the connection is open", case.name);
        }
    } else {
        send(&mut writer, &case.steps).await;
        sleep(Duration::from_secs(1)).await;
        drop(stream);
    }
    let mut seen = Vec::new();
    until("the handler has seen all", async || {
        seen.extend(recorder.deliveries());
        seen.len() >= case.handler.len()
    })
    .await;
    sleep(Duration::from_millis(200)).await;
    seen.extend(recorder.deliveries());
    recorder.host.stop().await;
    recorded.extend(case.handler.iter().map(|recorded| text_of(recorded, recorded, 0.0)));
    let nothing = Delivery::default();
    happened.extend(
        seen.iter().enumerate().map(|(n, delivery)| {
            text_of(delivery, case.handler.get(n).unwrap_or(&nothing), begin_s)
        }),
    );
    (recorded != happened).then_some([recorded, happened])
}

/// Plays all cases side by side, since some take seconds.
async fn differing(cases: &str, n_cases: usize) -> Vec<(String, [Vec<String>; 2])> {
    let mut file: Value = serde_json::from_str(cases).unwrap();
    let cases: Vec<Case> = serde_json::from_value(file["cases"].take()).unwrap();
    assert_eq!(cases.len(), n_cases);
    let played = cases.into_iter().map(async |case| (difference(&case).await, case.name));
    let played = join_all(played).await.into_iter();
    played.filter_map(|(difference, name)| Some((name, difference?))).collect()
}

#[tokio::test]
async fn every_recorded_body_is_forwarded_and_answered_as_by_the_host() {
    let differing = differing(include_str!("../recorded/host-bodies.json"), 26).await;
    let names: Vec<_> = differing.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, known_to_differ("recorded bytes"), "{differing:#?}");
}

#[tokio::test]
async fn more_bodies_are_forwarded_refused_and_cut_off_as_by_the_host() {
    let differing = differing(include_str!("bodies.json"), 14).await;
    assert!(differing.is_empty(), "{differing:#?}");
}
