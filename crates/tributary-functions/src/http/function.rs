//! HTTP functions: the lines of a table of routes.

use std::ops::Deref;

use axum::{
    http::Method,
    routing::{MethodFilter, MethodRouter},
};
use serde::Serialize;
use serde_json::Value;

use super::{DescribedHandler, Footprint, QueryParameter, Signature, WorkQueue};
use crate::cosmos::Limits;

/// A function that the host calls over HTTP. Its handler takes `S` as its `State`.
#[derive(Clone)]
pub struct HttpFunction<S = ()> {
    pub(crate) line: FunctionLine,
    pub(crate) handler: MethodRouter<S>,
}

/// The line of a function in a table of routes.
#[derive(Debug, Clone)]
pub struct FunctionLine {
    /// The folder in `functions/`.
    pub name: &'static str,
    /// The method.
    pub method: Method,
    /// The route, with a slash in front.
    pub route: &'static str,
    /// The callers that the function admits.
    pub auth_level: AuthLevel,
    /// The largest answer.
    pub footprint: Footprint,
    /// The store requests, request units and time that a request may use.
    pub limits: Limits,
    /// The queue in which a request waits before it has a permit; most functions have none.
    pub queue: Option<WorkQueue>,
    /// The projections that make the copies in its answer ([`HttpFunction::reads_copies_of`]).
    pub copies_of: &'static [&'static str],
    /// True if its changes are applied to the copies of eager projections before it answers.
    pub is_eager: bool,
    /// The parts of the request and of the answer.
    pub signature: Signature,
}

impl<S> Deref for HttpFunction<S> {
    type Target = FunctionLine;

    fn deref(&self) -> &FunctionLine {
        &self.line
    }
}

/// The callers that a function admits. The host checks the key. The handler checks the user, by an
/// [`Actor`](super::Actor), in an app that knows users ([`Authentication`](super::Authentication), or a
/// [`SignIn`](super::SignIn) of its own). Without either, a function without a key has no caller.
///
/// `function.json` has the level of the key alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AuthLevel {
    /// All callers. A command needs another level.
    Anonymous,
    /// All callers, for a command that is public on purpose, such as a sign-up.
    #[serde(rename = "anonymous")]
    Public,
    /// Callers with a key of the function or of the app.
    Function,
    /// Callers with a key, each signed in as any user.
    #[serde(rename = "function")]
    User,
    /// Callers with a key, each signed in as the user that the request acts for.
    #[serde(rename = "function")]
    Owner,
    /// Callers without a key, each signed in as any user.
    #[serde(rename = "anonymous")]
    KeylessUser,
    /// Callers without a key, each signed in as the user that the request acts for.
    #[serde(rename = "anonymous")]
    KeylessOwner,
}

impl AuthLevel {
    /// Returns true if the host asks for a key.
    pub fn needs_key(self) -> bool {
        matches!(self, Self::Function | Self::User | Self::Owner)
    }

    /// Returns true if the handler asks for a user, where the app knows users.
    pub fn needs_user(self) -> bool {
        use AuthLevel::{KeylessOwner, KeylessUser, Owner, User};
        matches!(self, User | Owner | KeylessUser | KeylessOwner)
    }
}

macro_rules! functions_of_methods {
    ($($(#[$doc:meta])* $create:ident: $method:ident),+) => {$(
        $(#[$doc])*
        pub fn $create<T: 'static, S: Clone + Send + Sync + 'static>(
            name: &'static str,
            route: &'static str,
            auth_level: AuthLevel,
            handler: impl DescribedHandler<T, S>,
        ) -> HttpFunction<S> {
            HttpFunction::new(name, Method::$method, route, auth_level, handler)
        }
    )+};
}

functions_of_methods!(
    /// Creates a `GET` function.
    get: GET,
    /// Creates a `POST` function.
    post: POST,
    /// Creates a `PUT` function.
    put: PUT,
    /// Creates a `DELETE` function.
    delete: DELETE
);

impl<S: Clone + Send + Sync + 'static> HttpFunction<S> {
    fn new<T: 'static, H: DescribedHandler<T, S>>(
        name: &'static str,
        method: Method,
        route: &'static str,
        auth_level: AuthLevel,
        handler: H,
    ) -> Self {
        let filter = match method {
            Method::GET => MethodFilter::GET,
            Method::POST => MethodFilter::POST,
            Method::PUT => MethodFilter::PUT,
            _ => MethodFilter::DELETE,
        };
        let line = FunctionLine {
            name,
            method,
            route,
            auth_level,
            footprint: Footprint::Small,
            limits: Limits::REQUEST,
            queue: None,
            copies_of: &[],
            is_eager: true,
            signature: Signature::new::<T, S, H>(),
        };
        Self { line, handler: handler.at(filter) }
    }

    /// Returns the function with this largest answer, by default a small one, or one as large as the request's body.
    pub fn answers(mut self, footprint: Footprint) -> Self {
        self.line.footprint = footprint;
        self
    }

    /// Returns the function with limits of its own instead of [`Limits::REQUEST`].
    pub fn within(mut self, limits: Limits) -> Self {
        self.line.limits = limits;
        self
    }

    /// Returns the function with a queue, for a handler that waits for something other than the store.
    pub fn queued(mut self, queue: &WorkQueue) -> Self {
        self.line.queue = Some(queue.clone());
        self
    }

    /// Returns the function as one whose answer has copies of these projections, each behind the one it reads from. A
    /// caller with a consistency token waits for them.
    pub fn reads_copies_of(mut self, projections: &'static [&'static str]) -> Self {
        self.line.copies_of = projections;
        self
    }

    /// Returns the function as a command without eager projections: its callers do not look for its changes in copies.
    pub fn without_eager_copies(mut self) -> Self {
        self.line.is_eager = false;
        self
    }

    /// Returns the function with parameters of the query string that its handler parses itself.
    pub fn reads(mut self, query: &'static [QueryParameter]) -> Self {
        self.line.signature.query = query;
        self
    }

    /// Returns the function as one that creates no item: the OpenAPI document has no 201 for it.
    pub fn edits(mut self) -> Self {
        self.line.signature.is_edit = true;
        self
    }

    /// Returns the function with an example of its body, for fields whose own examples do not go together: two dates,
    /// of which one must be later. The checks of `tributary-testing` send it.
    pub fn example(mut self, body: fn() -> Value) -> Self {
        self.line.signature.example = Some(body);
        self
    }

    /// Returns the function with the state of its handler.
    pub fn with_state(self, state: S) -> HttpFunction {
        HttpFunction { line: self.line, handler: self.handler.with_state(state) }
    }
}
