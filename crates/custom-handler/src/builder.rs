//! The function app: its HTTP functions and its triggers.

use std::future::Future;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;

use crate::dispatch;
use crate::invocation::Invocation;
use crate::serve::{self, ServeError, Shutdown};
use crate::trigger::{Trigger, TriggerHandler};

/// A function app, built up function by function and then served: see the example of the crate.
#[derive(Default)]
#[must_use = "a function app does nothing until it is served"]
pub struct CustomHandler {
    http: Router,
    http_names: Vec<String>,
    has_page: bool,
    triggers: Vec<(String, Trigger)>,
    first_error: Option<RegistrationError>,
}

impl CustomHandler {
    /// Creates an app without functions, which answers the host's readiness probe alone.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the HTTP functions, under the paths that callers use (`/api/...`). They need
    /// `"enableProxyingHttpRequest": true` in `host.json`. Requests and answers pass unchanged and without a limit to
    /// their bodies. A second call replaces the router of the first.
    pub fn http(mut self, router: Router) -> Self {
        self.http = router;
        self
    }

    /// Adds the names of the HTTP functions, each with its route. One outside [`ROUTE_PREFIX`] is an error: a caller
    /// could start a trigger through it.
    pub fn http_functions<'a>(
        mut self,
        functions: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        for (name, route) in functions {
            let checked = if route.starts_with(ROUTE_PREFIX) {
                self.check_name(name)
            } else {
                Err(RegistrationError(format!(
                    "the route `{route}` of `{name}` is not below `{ROUTE_PREFIX}`: the Functions host starts \
                     a trigger with `POST /<name>`, so no caller may reach such a path"
                )))
            };
            if self.accepts(checked) {
                self.http_names.push(name.to_owned());
            }
        }
        self
    }

    /// Adds the names of the functions that answer `GET` with the files of a web page, also at `/`: the host starts a
    /// trigger with a `POST`, so they may have no methods but `get` and `head`. The host's probe gets its own answer.
    pub fn page_functions<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        for name in names {
            self.has_page = true;
            if self.accepts(self.check_name(name)) {
                self.http_names.push(name.to_owned());
            }
        }
        self
    }

    /// Adds a function that a trigger starts: the host calls `POST /<name>`. The name is that of the function's
    /// folder, in the same case. The handler is an async function or closure that takes up to four arguments
    /// ([`FromInvocation`](crate::FromInvocation)) and returns any [`IntoOutcome`](crate::IntoOutcome). It is dropped
    /// when the host closes the connection, so it may be stopped at any `.await` and run again.
    pub fn trigger<H, Args>(mut self, name: impl Into<String>, handler: H) -> Self
    where
        H: TriggerHandler<Args>,
    {
        let name = name.into();
        if self.accepts(self.check_name(&name)) {
            let call = move |invocation: &Invocation<'_>| handler.call(invocation);
            self.triggers.push((name, Arc::new(call)));
        }
        self
    }

    /// Returns the names of the triggers, for a test that compares them with the folders of the functions.
    pub fn trigger_names(&self) -> Vec<&str> {
        self.triggers.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the whole app as one router, for tests in process.
    pub fn into_router(self) -> Result<Router, RegistrationError> {
        let Self { http, http_names, has_page, triggers, first_error } = self;
        match first_error {
            Some(error) => Err(error),
            None => Ok(dispatch::router(http, http_names, has_page, triggers)),
        }
    }

    /// Serves on `127.0.0.1` and the port in `FUNCTIONS_CUSTOMHANDLER_PORT` until Ctrl-C or SIGTERM. Port 0 takes a
    /// free port, which the log names. The process should end with [`Shutdown::exit_code`].
    pub async fn serve(self) -> Result<Shutdown, ServeError> {
        serve::serve(self.into_router()?).await
    }

    /// Serves on the caller's listener until `shutdown` is ready; then requests in flight have
    /// [`SHUTDOWN_GRACE`](crate::SHUTDOWN_GRACE) to end.
    pub async fn serve_on(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), ServeError> {
        serve::serve_on(self.into_router()?, listener, shutdown).await
    }

    fn accepts(&mut self, checked: Result<(), RegistrationError>) -> bool {
        checked.map_err(|error| self.first_error.get_or_insert(error)).is_ok()
    }

    fn check_name(&self, name: &str) -> Result<(), RegistrationError> {
        let triggers = self.triggers.iter().map(|(name, _)| name);
        let error = if !is_function_name(name) {
            format!(
                "`{name}` cannot be the name of a function: use a letter and up to 127 more letters, digits, \
                 `_` or `-`, and not `host`"
            )
        } else if triggers.chain(&self.http_names).any(|known| known.eq_ignore_ascii_case(name)) {
            format!(
                "a function named `{name}` is registered twice: give each function a name of its own"
            )
        } else {
            return Ok(());
        };
        Err(RegistrationError(error))
    }
}

/// The error of the first function with a name or a route that it cannot have. Its text says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RegistrationError(String);

/// The prefix of the routes of HTTP functions, unless `host.json` has another.
pub const ROUTE_PREFIX: &str = "/api/";

/// Returns true for a name by the host's rule: `^[a-z][a-z0-9_\-]{0,127}$` in any case, not `host`.
pub fn is_function_name(name: &str) -> bool {
    name.len() <= 128
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && !name.eq_ignore_ascii_case("host")
}
