//! HTTP functions: the lines of a table of routes.

use axum::{
    handler::Handler,
    http::Method,
    routing::{self, MethodRouter},
};
use serde::Serialize;

use super::{AdmissionTerms, DescribedHandler, Footprint, QueryParameter, Signature, WorkQueue};
use crate::cosmos::Limits;

/// A function that the host calls over HTTP. Its handler takes `S` as its `State`.
#[derive(Clone)]
pub struct HttpFunction<S = ()> {
    /// The folder in `functions/`.
    pub name: &'static str,
    /// The method.
    pub method: Method,
    /// The route, with a slash in front.
    pub route: &'static str,
    /// The callers that the host admits: all, or those with a key.
    pub auth_level: AuthLevel,
    /// The largest answer.
    pub footprint: Footprint,
    /// The store requests, request units and time that a request may use.
    pub limits: Limits,
    /// The queue in which a request waits before it has a place; most functions have none.
    pub queue: Option<WorkQueue>,
    /// The parts of the request and of the answer.
    pub signature: Signature,
    handler: MethodRouter<S>,
}

/// The callers that a function admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AuthLevel {
    /// All callers.
    Anonymous,
    /// Callers with a key of the function or of the app.
    Function,
}

/// Creates a `GET` function.
pub fn get<T: 'static, S: Clone + Send + Sync + 'static>(
    name: &'static str,
    route: &'static str,
    auth_level: AuthLevel,
    handler: impl Handler<T, S> + DescribedHandler<T>,
) -> HttpFunction<S> {
    HttpFunction::new(name, Method::GET, route, auth_level, handler)
}

/// Creates a `POST` function.
pub fn post<T: 'static, S: Clone + Send + Sync + 'static>(
    name: &'static str,
    route: &'static str,
    auth_level: AuthLevel,
    handler: impl Handler<T, S> + DescribedHandler<T>,
) -> HttpFunction<S> {
    HttpFunction::new(name, Method::POST, route, auth_level, handler)
}

/// Creates a `PUT` function.
pub fn put<T: 'static, S: Clone + Send + Sync + 'static>(
    name: &'static str,
    route: &'static str,
    auth_level: AuthLevel,
    handler: impl Handler<T, S> + DescribedHandler<T>,
) -> HttpFunction<S> {
    HttpFunction::new(name, Method::PUT, route, auth_level, handler)
}

/// Creates a `DELETE` function.
pub fn delete<T: 'static, S: Clone + Send + Sync + 'static>(
    name: &'static str,
    route: &'static str,
    auth_level: AuthLevel,
    handler: impl Handler<T, S> + DescribedHandler<T>,
) -> HttpFunction<S> {
    HttpFunction::new(name, Method::DELETE, route, auth_level, handler)
}

impl<S: Clone + Send + Sync + 'static> HttpFunction<S> {
    fn new<T: 'static, H: Handler<T, S> + DescribedHandler<T>>(
        name: &'static str,
        method: Method,
        route: &'static str,
        auth_level: AuthLevel,
        handler: H,
    ) -> Self {
        let (footprint, limits, queue) = (Footprint::Small, Limits::REQUEST, None);
        let signature = Signature::new::<T, H>();
        let handler = match method {
            Method::GET => routing::get(handler),
            Method::POST => routing::post(handler),
            Method::PUT => routing::put(handler),
            _ => routing::delete(handler),
        };
        Self { name, method, route, auth_level, footprint, limits, queue, signature, handler }
    }

    /// Returns the function with a larger answer. Without it the answer is small, or as large as the
    /// request's body.
    pub fn answers(self, footprint: Footprint) -> Self {
        Self { footprint, ..self }
    }

    /// Returns the function with limits of its own instead of [`Limits::REQUEST`].
    pub fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the function with a queue, as its handler waits for something other than the store.
    pub fn queued(self, queue: &WorkQueue) -> Self {
        // guard: admission: hashes wait in a queue of their own => `self`
        Self { queue: Some(queue.clone()), ..self }
    }

    /// Returns the function with parameters of the query string that its handler reads by itself.
    pub fn reads(self, query: &'static [QueryParameter]) -> Self {
        Self { signature: self.signature.reading(query), ..self }
    }

    /// Returns the function with the state of its handler.
    pub fn with_state(self, state: S) -> HttpFunction {
        let Self { name, method, route, auth_level, footprint, limits, queue, signature, handler } =
            self;
        HttpFunction {
            name,
            method,
            route,
            auth_level,
            footprint,
            limits,
            queue,
            signature,
            handler: handler.with_state(state),
        }
    }
}

impl HttpFunction {
    /// Returns upon which terms a request is admitted.
    pub fn terms(&self) -> AdmissionTerms {
        let Self { footprint, limits, queue, .. } = self;
        AdmissionTerms { footprint: *footprint, limits: *limits, queue: queue.clone() }
    }

    /// Returns the handler as a route of a router.
    pub fn into_handler(self) -> MethodRouter {
        self.handler
    }
}
