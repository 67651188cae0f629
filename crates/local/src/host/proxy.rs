//! The proxy of requests to the handler, with the host's repetitions after a broken connection.
//!
//! The host makes ten attempts with pauses of 50 to 250 ms, 1.9 s in all. Within an attempt its HTTP
//! client repeats a request up to three times at once, but no `POST`. So a handler that breaks every
//! connection receives a request without a body 40 times, and a `POST` 10 times, always under one
//! invocation id. A body can be sent only once. After any failure, the answer is a 500 with an empty
//! body.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures::future::join_all;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http_body::{Frame, SizeHint};
use tokio::time::Sleep;

use super::admin::EndedInvocation;
use super::console::Console;
use super::disturbance::MAX_CRASH_DELAY_MS;
use super::invoke::{HandlerClient, chain};
use super::process::HandlerWatch;
use super::wire;
use crate::chaos::{Chaos, ChaosKind};
use crate::lock;

/// The time in which the handler must begin to answer.
const ACTIVITY_TIMEOUT: Duration = Duration::from_mins(4);
const MAX_ATTEMPTS: usize = 10;
/// The number of requests that the host's HTTP client sends within an attempt, unless it is a `POST`.
const SENDS_PER_ATTEMPT: usize = 4;
/// The pause after the first attempt. It doubles after each one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// Headers of one connection, which are not forwarded (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

pub(super) struct Proxy<'a> {
    pub(super) handler: &'a HandlerWatch,
    pub(super) client: &'a HandlerClient,
    pub(super) console: &'a Console,
    pub(super) chaos: Option<&'a Chaos>,
}

impl Proxy<'_> {
    /// Runs an HTTP function by forwarding its request to the handler, bodies streamed both ways.
    pub(super) async fn forward(&self, function: &str, request: Request) -> Response {
        let id = uuid::Uuid::new_v4().to_string();
        let started = Instant::now();
        // The query is left out: it can hold a key.
        let what = format!("{} {}", request.method(), request.uri().path());
        let text = |headers: &HeaderMap, name: &str| {
            headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
        };
        let trace_parent = text(request.headers(), "traceparent");
        let exchange = self.exchange(request, &id);
        let answer = match tokio::time::timeout(ACTIVITY_TIMEOUT, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", ACTIVITY_TIMEOUT.as_secs())),
        };
        let ended = EndedInvocation::new(function, &id, started.elapsed(), &what);
        let ended = EndedInvocation { trace_parent, ..ended };
        match answer {
            Ok(response) => {
                let charge = text(response.headers(), wire::REQUEST_CHARGE);
                let ended = EndedInvocation { charge, ..ended };
                self.console.answered(ended, response.status().as_u16());
                response
            }
            Err(reason) => {
                self.console.failed(ended, &format!(" → 500: {reason}"));
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }

    async fn exchange(&self, request: Request, id: &str) -> Result<Response, String> {
        let url = self.handler.url().await.map_err(|error| error.to_string())?;
        let (mut head, body) = request.into_parts();
        prepare(&mut head, &url, id)?;
        let body = (!body.is_end_stream()).then(|| {
            Arc::new(Mutex::new(BodyState { body: Some(body), begun: false, sent: false }))
        });
        let head = &head;
        let body = &body;
        let deliver = || async move {
            tokio::select! {
                answer = self.deliver(head, body) => answer,
                error = self.handler.failed() => Err(error.to_string()),
                never = self.crashes(head) => match never {},
            }
        };
        let answer = match self.chaos {
            Some(chaos) if body.is_none() => send(chaos, deliver).await,
            _ => deliver().await,
        };
        if answer.is_err()
            && let Some(body) = body
        {
            lock(body).body = None;
        }
        answer
    }

    /// Kills the handler in the middle of the request, if chaos decides so. The request is repeated or
    /// not, as after any other crash.
    async fn crashes(&self, head: &Parts) -> Infallible {
        if let Some(chaos) = self.chaos
            && let Some(mut random) = chaos.roll(ChaosKind::Crash)
        {
            let after = Duration::from_millis(random.below(MAX_CRASH_DELAY_MS));
            tokio::time::sleep(after).await;
            self.handler.crash();
            let what = head.uri.path();
            let after_ms = after.as_millis();
            chaos.note(ChaosKind::Crash, format_args!("{what} after {after_ms} ms"));
        }
        std::future::pending().await
    }

    /// Sends the request until there is an answer, with the host's attempts.
    async fn deliver(&self, head: &Parts, body: &RequestBody) -> Result<Response, String> {
        let sent_per_attempt = if head.method == Method::POST { 1 } else { SENDS_PER_ATTEMPT };
        let mut pause = FIRST_PAUSE;
        let mut reason = String::new();
        for attempt in 0..MAX_ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(MAX_PAUSE);
            }
            for _ in 0..sent_per_attempt {
                // The host makes its other attempts without the body too, and all fail.
                let Some(sending) = to_send(body) else {
                    return Err(reason);
                };
                match self.client.request(Request::from_parts(head.clone(), sending)).await {
                    Ok(response) if body.as_ref().is_none_or(|body| lock(body).sent) => {
                        return answered(head, response.map(Body::new)).await;
                    }
                    Ok(response) => {
                        let status = response.status().as_u16();
                        reason = format!("the handler answered {status} before it read the body");
                    }
                    Err(error) => {
                        reason = format!("the handler did not answer: {}", chain(&error));
                        if error.is_connect() {
                            break;
                        }
                    }
                }
            }
        }
        Err(reason)
    }
}

fn prepare(head: &mut Parts, url: &str, id: &str) -> Result<(), String> {
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    let target: Uri = format!("{url}{path}").parse().map_err(|_| "not a URL".to_owned())?;
    // A target with an authority wins over the header.
    let authority = head.uri.authority().and_then(|name| name.as_str().parse().ok());
    let host = authority.or_else(|| head.headers.get(header::HOST).cloned());
    remove_hop_by_hop(&mut head.headers);
    // A caller's own values of these are dropped, so an invocation id cannot be forged.
    let id = HeaderValue::from_str(id).map_err(|error| error.to_string())?;
    let version = HeaderValue::from_static(wire::HOST_VERSION_VALUE);
    let own = [
        (header::HOST, target.authority().and_then(|name| name.as_str().parse().ok())),
        (HeaderName::from_static(wire::HOST_VERSION), Some(version)),
        (HeaderName::from_static(wire::INVOCATION_ID), Some(id.clone())),
        (HeaderName::from_static("x-ms-invocation-id"), Some(id)),
        (header::FORWARDED, None),
        // This host listens on the loopback interface only.
        (HeaderName::from_static("x-forwarded-for"), Some(HeaderValue::from_static("127.0.0.1"))),
        (HeaderName::from_static("x-forwarded-host"), host),
        (HeaderName::from_static("x-forwarded-proto"), Some(HeaderValue::from_static("http"))),
    ];
    for (name, value) in own {
        head.headers.remove(&name);
        if let Some(value) = value {
            head.headers.insert(name, value);
        }
    }
    head.uri = target;
    head.version = axum::http::Version::HTTP_11;
    // The server's data about the caller's connection are useless to the client.
    head.extensions.clear();
    Ok(())
}

async fn answered(request: &Parts, response: Response) -> Result<Response, String> {
    let (mut head, body) = response.into_parts();
    remove_hop_by_hop(&mut head.headers);
    let body = if request.method == Method::HEAD {
        // An empty body would get a length, which differs from that of the answer to a GET.
        Body::from_stream(stream::empty::<Result<Bytes, Infallible>>())
    } else {
        begun(body).await.map_err(|error| format!("the answer broke off: {error}"))?
    };
    head.version = axum::http::Version::default();
    Ok(Response::from_parts(head, body))
}

/// Waits for the first data of a body of unknown length. The host's server sends the head with it; a
/// body without data has the length zero.
async fn begun(body: Body) -> Result<Body, axum::Error> {
    if body.size_hint().exact().is_some() {
        return Ok(body);
    }
    let mut data = body.into_data_stream();
    match data.try_next().await? {
        Some(first) => Ok(Body::from_stream(stream::iter([Ok(first)]).chain(data))),
        None => Ok(Body::empty()),
    }
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in HOP_BY_HOP.iter().chain(&named) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}

/// The number of times that the host sends a request at most.
const MAX_SENDS: u64 = 40;
/// The probability that a repeated request is sent that often.
const MAX_SENDS_PROBABILITY: f64 = 0.05;
/// The probability that the requests run side by side, not one after the other.
const SIDE_BY_SIDE_PROBABILITY: f64 = 0.5;

/// Sends a request without a body once, or several times if [`ChaosKind::Repeat`] happens. One answer is
/// kept, and all others are dropped.
async fn send<F: Future>(chaos: &Chaos, once: impl Fn() -> F) -> F::Output {
    let Some(mut random) = chaos.roll(ChaosKind::Repeat) else {
        return once().await;
    };
    let times = if random.chance(MAX_SENDS_PROBABILITY) { MAX_SENDS } else { 2 + random.below(4) };
    let side_by_side = random.chance(SIDE_BY_SIDE_PROBABILITY);
    let how = if side_by_side { "side by side" } else { "one after the other" };
    chaos.note(ChaosKind::Repeat, format_args!("a request {times} times, {how}"));
    if side_by_side {
        let others = join_all((1..times).map(|_| once()));
        return futures::join!(once(), others).0;
    }
    for _ in 1..times {
        once().await;
    }
    once().await
}

/// The time from the head to the body. In Azure, two processes and a network are between.
const BEHIND_HEAD: Duration = Duration::from_millis(1);

/// A request's body on its way to the handler, sent once at most.
///
/// The host sends the head first, then the body in the caller's pieces, and reads no answer before the
/// whole body was sent. So a handler that answers and closes early breaks the host's copy, and the
/// caller gets a 500.
#[derive(Debug)]
struct BodyState {
    /// `None` after the body was abandoned.
    body: Option<Body>,
    begun: bool,
    sent: bool,
}

/// No body can be sent any number of times.
type RequestBody = Option<Arc<Mutex<BodyState>>>;

/// Returns the body to send; `None` if its sending has begun before.
fn to_send(body: &RequestBody) -> Option<Body> {
    let Some(state) = body else {
        return Some(Body::empty());
    };
    let known = lock(state);
    (!known.begun).then(|| {
        Body::new(Sending {
            size: known.body.as_ref().map(HttpBody::size_hint).unwrap_or_default(),
            pause: Some(Box::pin(tokio::time::sleep(BEHIND_HEAD))),
            state: state.clone(),
        })
    })
}

struct Sending {
    size: SizeHint,
    pause: Option<Pin<Box<Sleep>>>,
    state: Arc<Mutex<BodyState>>,
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        // The connection exists, and the head goes first.
        lock(&self.state).begun = true;
        if let Some(pause) = self.pause.as_mut() {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        let mut state = lock(&self.state);
        let Some(body) = state.body.as_mut() else {
            return Poll::Ready(Some(Err(axum::Error::new("the body was abandoned"))));
        };
        let frame = ready!(Pin::new(&mut *body).poll_frame(context));
        state.sent = frame.is_none() || body.is_end_stream();
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}
