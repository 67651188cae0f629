//! The session of a caller: the answer to a command has a token of its writes, and a request that brings the
//! token sees at least these writes, at every instance.
//!
//! The header [`CONSISTENCY_TOKEN`] carries the token both ways, or a cookie, which a browser asks for by
//! `Prefer: consistency-cookie`. A request without a token costs and sees what it would without this module.
//!
//! Where an answer has copies ([`HttpFunction::reads_copies_of`](super::HttpFunction::reads_copies_of)), the
//! request waits for the projections that make them, before the admission control. When its time ends first, the
//! answer says so with [`COPIES_BEHIND`]. A command that has succeeded applies its changes to the copies of eager
//! projections before its answer goes out (`EagerProjections`).

use std::time::Duration;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::{
    ApiError,
    consistency_token::{self, MAX_TOKEN_CHARACTERS},
};
use crate::{
    cosmos::{Captures, Limits, Session, decided, in_session, within_request},
    projection::{CopyFreshness, Projections},
    values::Timestamp,
};

/// The header with the token, of requests and of answers.
pub const CONSISTENCY_TOKEN: HeaderName = HeaderName::from_static("consistency-token");

/// The header of RFC 7240 with the preferences that an answer follows.
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// The header of an answer whose copies may lack writes that the caller knows: `?1`, the
/// true value of RFC 9651.
pub(super) const COPIES_BEHIND: HeaderName = HeaderName::from_static("copies-behind");

const COOKIE: &str = "consistency-token";

/// Settings of the callers' sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsistencyOptions {
    /// The age at which a token asks for nothing any more: `Consistency__TokenMinutes`.
    pub max_age: Duration,
    /// The time for which a request waits for projections, unless it prefers another: `Consistency__WaitSeconds`.
    pub wait: Duration,
    /// The longest wait that a request may prefer: `Consistency__MaxWaitSeconds`.
    pub max_wait: Duration,
    /// True if cookies are sent over HTTPS only: false where the handler runs on the developer's computer.
    pub secure_cookies: bool,
}

impl Default for ConsistencyOptions {
    fn default() -> Self {
        Self {
            max_age: Duration::from_mins(15),
            wait: Duration::from_secs(2),
            max_wait: Duration::from_secs(10),
            secure_cookies: true,
        }
    }
}

/// The parts of the app that the session of a caller needs, and the function that it calls. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct Consistency {
    pub options: ConsistencyOptions,
    pub projections: Projections,
    /// The projections that make the copies in the function's answer.
    pub copies_of: &'static [&'static str],
    /// The limits of the function, against which its waits count.
    pub limits: Limits,
    /// The containers whose changes the function applies to the copies of eager projections.
    pub captures: Captures,
}

#[derive(Debug, Default)]
struct GivenToken {
    session: Session,
    is_cookie: bool,
}

/// Runs a request in the session of its caller, and adds the token of its writes to the answer of a command.
pub(crate) async fn consistent(
    State(consistency): State<Consistency>,
    request: Request,
    next: Next,
) -> Response {
    let options = consistency.options;
    let eager = &consistency.projections.eager;
    let given = match given(request.headers(), eager.tag(), options.max_age) {
        Ok(given) => given,
        Err(error) => return error.into_response(),
    };
    if request.method().is_safe() {
        return match given {
            Some(GivenToken { session, .. }) => consistency.read(session, request, next).await,
            None => next.run(request).await,
        };
    }
    let GivenToken { session: older, is_cookie } = given.unwrap_or_default();
    let preferences = Preferences::of(request.headers());
    let captures = consistency.captures.clone();
    let work = in_session(older.clone(), captures, next.run(request));
    let (mut response, seen) = work.await;
    if !response.status().is_success() {
        return response;
    }
    let session = eager.apply(seen).await.and(&older);
    if session.is_empty() {
        return response;
    }
    let token = consistency_token::write(&session, eager.tag(), Timestamp::now());
    let headers = response.headers_mut();
    if (preferences.cookie || is_cookie)
        && let Ok(cookie) = HeaderValue::try_from(options.cookie(&token))
    {
        headers.append(header::SET_COOKIE, cookie);
        if preferences.cookie {
            headers.append(PREFERENCE_APPLIED, HeaderValue::from_static("consistency-cookie"));
        }
    }
    if let Ok(token) = HeaderValue::try_from(token) {
        headers.insert(CONSISTENCY_TOKEN, token);
    }
    response
}

impl Consistency {
    /// Answers a query in the session of its caller, after the projections of its copies have caught up.
    async fn read(&self, session: Session, request: Request, next: Next) -> Response {
        let preferred = Preferences::of(request.headers()).wait;
        let limit = preferred.unwrap_or(self.options.wait).min(self.options.max_wait);
        let wait = self.projections.wait_for(self.copies_of, &session, limit);
        let copies = within_request(self.limits, wait).await;
        let reads_latest = matches!(copies, CopyFreshness::UpToDate | CopyFreshness::Behind);
        let work = in_session(session, Captures::default(), next.run(request));
        let ((mut response, _), _) = decided(reads_latest, work).await;
        let is_behind = copies == CopyFreshness::Behind;
        let is_applied = matches!(copies, CopyFreshness::UpToDate | CopyFreshness::InSession);
        let has_applied = is_applied && preferred.is_some();
        if (is_behind || has_applied)
            && let Ok(wait) = HeaderValue::try_from(format!("wait={}", limit.as_secs()))
        {
            response.headers_mut().append(PREFERENCE_APPLIED, wait);
        }
        if is_behind {
            response.headers_mut().insert(COPIES_BEHIND, HeaderValue::from_static("?1"));
        }
        response
    }
}

impl ConsistencyOptions {
    /// Returns the cookie with a token. Scripts do not see it, and requests of other sites do not bring it.
    fn cookie(&self, token: &str) -> String {
        let age = self.max_age.as_secs();
        let secure = if self.secure_cookies { "; Secure" } else { "" };
        format!("{COOKIE}={token}; Path=/api; Max-Age={age}; HttpOnly; SameSite=Lax{secure}")
    }
}

/// Reads the token of a request: that of the header, or of the cookie. A bad header is refused. A bad cookie
/// is ignored, since no script could remove it.
fn given(
    headers: &HeaderMap,
    eager: u32,
    max_age: Duration,
) -> Result<Option<GivenToken>, ApiError> {
    let read = |token: &str| consistency_token::read(token, eager, Timestamp::now(), max_age);
    let mut tokens = headers.get_all(&CONSISTENCY_TOKEN).iter();
    if let Some(token) = tokens.next() {
        let token = token.to_str().ok().filter(|_| tokens.next().is_none());
        let session = token.and_then(read).ok_or_else(refused)?;
        return Ok(Some(GivenToken { session, is_cookie: false }));
    }
    let session = cookie(headers).and_then(read);
    Ok(session.map(|session| GivenToken { session, is_cookie: true }))
}

fn refused() -> ApiError {
    let rule = format!(
        "must be the `Consistency-Token` of an answer of this app, of at most {MAX_TOKEN_CHARACTERS} \
         characters, once. Without the header the request is answered as usual"
    );
    ApiError::invalid("Consistency-Token", rule)
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        values.flat_map(|value| value.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE).map(|(_, value)| value.trim())
}

/// The preferences of a request. Others, and those with a bad value, are ignored, as the standard says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Preferences {
    /// The longest wait, in whole seconds: `wait=5`.
    pub wait: Option<Duration>,
    /// True if the answer is to set the token as a cookie: `consistency-cookie`.
    pub cookie: bool,
}

impl Preferences {
    /// Reads the preferences. The first of a name counts.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut preferences = Self::default();
        let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        for preference in values.flat_map(|value| value.split(',')) {
            // Parameters follow a semicolon.
            let preference = preference.split(';').next().unwrap_or_default();
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "wait" if preferences.wait.is_none() => {
                    preferences.wait = value.parse().ok().map(Duration::from_secs);
                }
                "consistency-cookie" => preferences.cookie = true,
                _ => {}
            }
        }
        preferences
    }
}
