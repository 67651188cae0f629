//! The proxy of requests to the handler, with the host's repetitions after a broken connection.
//!
//! The host makes ten attempts with pauses of 50 to 250 ms. Within an attempt its HTTP client repeats a request up
//! to three times at once, but no `POST`. So a handler that breaks every connection receives a request without a
//! body 40 times, and a `POST` 10 times, always under one invocation id. A body is sent only once.
//!
//! A body with a length is read to its end before the handler hears of the request. A chunked body is passed
//! on as it comes.

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
use http_body_util::BodyExt as _;
use tokio::time::Sleep;

use super::admin::EndedInvocation;
use super::disturbance::MAX_CRASH_DELAY_MS;
use super::front::Front;
use super::invoke::chain;
use super::process::HandlerWatch;
use super::request_body::{ArrivingBody, drain};
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
const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

impl Front {
    /// Runs an HTTP function by forwarding its request to the handler, bodies streamed both ways.
    pub(super) async fn forward(&self, function: &str, request: Request) -> Response {
        let id = uuid::Uuid::new_v4().to_string();
        let started = Instant::now();
        // The query is left out: it can hold a key.
        let what = format!("{} {}", request.method(), request.uri().path());
        let answer = self.arrived_and_exchanged(request, &id).await;
        let ended = EndedInvocation::new(function, &id, started.elapsed(), &what);
        match answer {
            Ok(response) => {
                let charge = response.headers().get(wire::REQUEST_CHARGE);
                let charge = charge.and_then(|charge| charge.to_str().ok()).map(str::to_owned);
                let ended = EndedInvocation { charge, ..ended };
                self.options.console.answered(ended, response.status().as_u16());
                response
            }
            Err(reason) => {
                self.options.console.failed(ended, &format!(" → 500: {reason}"));
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }

    async fn arrived_and_exchanged(&self, request: Request, id: &str) -> Result<Response, String> {
        let (head, body) = request.into_parts();
        let arriving = ArrivingBody { body, limit: self.body_limit, ..ArrivingBody::default() };
        let (mut body, mut n_left) = (Body::new(arriving), None);
        let is_empty = body.is_end_stream();
        if !is_empty && head.headers.contains_key(header::CONTENT_LENGTH) {
            match (&mut body).collect().await {
                Ok(whole) => {
                    let whole = whole.to_bytes();
                    n_left = Some(whole.len() as u64);
                    let pieces = whole.chunks(PIECE_BYTES).map(|piece| Ok(whole.slice_ref(piece)));
                    let pieces: Vec<Result<_, Infallible>> = pieces.collect();
                    body = Body::from_stream(stream::iter(pieces));
                }
                Err(error) => {
                    drain(body);
                    return Err(error.to_string());
                }
            }
        }
        let body = BodyState { body: Some(body), n_left, begun: false, sent: false };
        let body = (!is_empty).then(|| Arc::new(Mutex::new(body)));
        let exchange = self.exchange(head, body, id);
        let answer = tokio::time::timeout(ACTIVITY_TIMEOUT, exchange).await;
        answer.unwrap_or_else(|_| Err(format!("no answer within {} s", ACTIVITY_TIMEOUT.as_secs())))
    }

    async fn exchange(
        &self,
        mut head: Parts,
        body: RequestBody,
        id: &str,
    ) -> Result<Response, String> {
        let handler = self.handler();
        let url = handler.url().await.map_err(|error| error.to_string())?;
        prepare(&mut head, &url, id)?;
        if body.as_ref().is_some_and(|body| lock(body).n_left.is_none()) {
            // Without it, the client would drop the body of a GET.
            head.headers.insert(header::TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        let head = &head;
        let body = &body;
        let deliver = || async move {
            tokio::select! {
                answer = self.deliver(head, body) => answer,
                error = handler.failed() => Err(error.to_string()),
                never = self.crashes(handler, head) => match never {},
            }
        };
        let answer = match &self.options.chaos {
            Some(chaos) if body.is_none() => send(chaos, deliver).await,
            _ => deliver().await,
        };
        if answer.is_err()
            && let Some(body) = body
            && let Some(rest) = lock(body).body.take()
        {
            drain(rest);
        }
        answer
    }

    /// Kills the handler in the middle of the request, if chaos decides so.
    async fn crashes(&self, handler: &HandlerWatch, head: &Parts) -> Infallible {
        if let Some(chaos) = &self.options.chaos
            && let Some(mut random) = chaos.roll(ChaosKind::Crash)
        {
            let after = Duration::from_millis(random.below(MAX_CRASH_DELAY_MS));
            tokio::time::sleep(after).await;
            handler.crash();
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
    head.headers = joined(&head.headers);
    let is_upgrade = named_in_connection(&head.headers).contains(&header::UPGRADE);
    let upgrade = head.headers.remove(header::UPGRADE).filter(|_| is_upgrade);
    remove_hop_by_hop(&mut head.headers);
    // A caller's own values of these are dropped, so an invocation id cannot be forged.
    let id = HeaderValue::from_str(id).map_err(|error| error.to_string())?;
    let version = HeaderValue::from_static(wire::HOST_VERSION_VALUE);
    let connection = upgrade.is_some().then(|| HeaderValue::from_static("Upgrade"));
    let own = [
        (header::CONNECTION, connection),
        (header::UPGRADE, upgrade),
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

/// Joins the lines of each header into one.
fn joined(headers: &HeaderMap) -> HeaderMap {
    let joined = headers.keys().filter_map(|name| {
        let separator: &[u8] = if name == header::COOKIE { b"; " } else { b", " };
        let lines: Vec<_> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        Some((name.clone(), HeaderValue::from_bytes(&lines.join(separator)).ok()?))
    });
    joined.collect()
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

/// Waits for the first data of a body of unknown length, with which the host's server sends the head.
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
    for name in HOP_BY_HOP.iter().chain(&named_in_connection(headers)) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
    headers.remove("proxy-connection");
}

fn named_in_connection(headers: &HeaderMap) -> Vec<HeaderName> {
    let lines = headers.get_all(header::CONNECTION).iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).filter_map(|name| name.trim().parse().ok()).collect()
}

/// The number of times that the host sends a request at most.
const MAX_SENDS: u64 = 40;
/// The probability that a repeated request is sent that often.
const MAX_SENDS_PROBABILITY: f64 = 0.05;
/// The probability that the requests run side by side, not one after the other.
const SIDE_BY_SIDE_PROBABILITY: f64 = 0.5;

/// Sends a request once, or several times if [`ChaosKind::Repeat`] happens. One answer is kept.
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

/// The time from the head to a chunked body, and from the first to the next piece of a whole one. In Azure,
/// two processes and a network are between.
const BEHIND_HEAD: Duration = Duration::from_millis(1);

/// The bytes of a whole body that are sent at a time.
const PIECE_BYTES: usize = 256 * 1024;

/// A request's body on its way to the handler, sent once at most.
///
/// The host reads no answer before the whole body was sent. So a handler that answers and closes early
/// breaks the host's copy, and the caller gets a 500, unless the rest of the body was on its way already.
#[derive(Debug)]
struct BodyState {
    /// `None` after the body was abandoned.
    body: Option<Body>,
    /// The bytes of a whole body that were not sent yet; `None` for a chunked body.
    n_left: Option<u64>,
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
            size: known.n_left.map_or_else(SizeHint::default, SizeHint::with_exact),
            pause: Box::pin(tokio::time::sleep(BEHIND_HEAD)),
            state: state.clone(),
        })
    })
}

struct Sending {
    size: SizeHint,
    pause: Pin<Box<Sleep>>,
    state: Arc<Mutex<BodyState>>,
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let state = self.state.clone();
        let mut state = lock(&state);
        // The connection exists, and the head goes first.
        let is_first = !std::mem::replace(&mut state.begun, true);
        if !is_first || state.n_left.is_none() {
            ready!(self.pause.as_mut().poll(context));
        }
        let Some(body) = state.body.as_mut() else {
            return Poll::Ready(Some(Err(axum::Error::new("the body was abandoned"))));
        };
        let frame = ready!(Pin::new(&mut *body).poll_frame(context));
        if let (Some(n_left), Some(Ok(frame))) = (&mut state.n_left, &frame) {
            *n_left -= frame.data_ref().map_or(0, |data| data.len() as u64);
            self.pause.set(tokio::time::sleep(BEHIND_HEAD));
        }
        state.sent = frame.is_none() || state.n_left == Some(0);
        Poll::Ready(frame)
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}
