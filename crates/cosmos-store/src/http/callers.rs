//! The callers that a port of this machine answers.
//!
//! A page of any site can send requests to 127.0.0.1. Under a name that its site resolves to 127.0.0.1, it also reads
//! the answers (DNS rebinding). A browser names the page's site in `Origin`, and the name in `Host`.

use std::net::IpAddr;

use bytes::Bytes;
use http::{Request, header, uri::Authority};

use super::call;
use crate::Refusal;

/// The name that lets everyone call, also pages of other sites.
const EVERYONE: &str = "*";

/// Refuses a request whose host is neither this machine's nor one of `allowed_hosts`, and one of a page of another site.
pub(super) fn check(request: &Request<Bytes>, allowed_hosts: &[String]) -> Result<(), Refusal> {
    let is_allowed =
        |host: &str| allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
    if is_allowed(EVERYONE) {
        return Ok(());
    }
    for authority in authorities(request) {
        let parsed = authority.parse::<Authority>();
        let host = parsed.as_ref().map_or(authority, Authority::host);
        if !host.is_empty() && !is_this_machine(host) && !is_allowed(host) {
            return Err(Refusal::new(
                403,
                format!(
                    "This port is for this machine, and the request is for {host}. Call 127.0.0.1, or start the store \
                     with --allow-host {host}"
                ),
            ));
        }
    }
    let site = call::header(request, header::ORIGIN.as_str());
    let is_own = |origin: &str| {
        let site = origin.split_once("://").map_or(origin, |(_, site)| site);
        authorities(request).any(|authority| authority == site)
    };
    match site.filter(|origin| !is_own(origin)) {
        Some(origin) => {
            Err(Refusal::new(403, format!("A page of {origin} may not call this port.")))
        }
        None => Ok(()),
    }
}

/// Returns the host, with its port, by which the caller came.
pub(super) fn authorities(request: &Request<Bytes>) -> impl Iterator<Item = &str> {
    let named = request.headers().get_all(header::HOST).iter().filter_map(|it| it.to_str().ok());
    request.uri().authority().map(Authority::as_str).into_iter().chain(named)
}

fn is_this_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|it| it.is_loopback())
}
