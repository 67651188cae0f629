//! `x-ms-request-charge`: what a request has cost.

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};

use crate::cosmos::metered;

const REQUEST_CHARGE: HeaderName = HeaderName::from_static("x-ms-request-charge");

/// Puts on every answer that used the store the sum of the request units of all its store calls.
pub async fn charge(request: Request, next: Next) -> Response {
    let (mut response, meter) = metered(next.run(request)).await;
    if meter.requests() > 0 {
        tracing::debug!(
            request_charge_ru = meter.request_units(),
            store.requests = meter.requests(),
            "The request used the store"
        );
        if let Ok(value) = HeaderValue::try_from(meter.request_units().to_string()) {
            response.headers_mut().insert(REQUEST_CHARGE, value);
        }
    }
    response
}
