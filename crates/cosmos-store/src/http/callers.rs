//! The callers that a port of this machine answers.
//!
//! A page of any site can send requests to 127.0.0.1. Under a name that its site resolves to 127.0.0.1, it also reads
//! the answers (DNS rebinding). A browser names the page's site in `Origin`, and the name in `Host`.

use std::net::IpAddr;

use bytes::Bytes;
use http::{HeaderMap, Request, Uri, header, uri::Authority};

use crate::{Refusal, Result};

/// The name that lets everyone call, pages of other sites included.
const EVERYONE: &str = "*";

/// A caller that a port of this machine does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger<'a> {
    /// It calls another host, this one.
    Host(&'a str),
    /// It is a page of another site, this one.
    Page(&'a str),
}

/// Returns why a request is not to be answered: it is neither for this machine nor for one of `allowed_hosts`, or comes
/// from a page that is neither of this port nor of one of the sites `origins`.
pub fn stranger<'a>(
    uri: &'a Uri,
    headers: &'a HeaderMap,
    allowed_hosts: &[String],
    origins: &[String],
) -> Option<Stranger<'a>> {
    let is_allowed = |host: &str| allowed_hosts.iter().any(|it| it.eq_ignore_ascii_case(host));
    if is_allowed(EVERYONE) {
        return None;
    }
    let hosts = authorities(uri, headers).map(host);
    let mut strangers =
        hosts.filter(|it| !it.is_empty() && !is_this_machine(it) && !is_allowed(it));
    let is_own = |origin: &str| {
        let site = origin.split_once("://").map(|(_, site)| site);
        authorities(uri, headers).any(|authority| site == Some(authority))
    };
    let sites = headers.get_all(header::ORIGIN).iter();
    let mut sites = sites.map(|origin| origin.to_str().unwrap_or_default());
    strangers.next().map(Stranger::Host).or_else(|| {
        sites.find(|site| !is_own(site) && !is_listed(origins, site)).map(Stranger::Page)
    })
}

/// Returns true if a list of sites has the site of a page.
pub fn is_listed(origins: &[String], origin: &str) -> bool {
    origins.iter().any(|listed| listed == EVERYONE || listed.eq_ignore_ascii_case(origin))
}

/// Refuses a request that is not to be answered.
pub(super) fn check(request: &Request<Bytes>, allowed_hosts: &[String]) -> Result<()> {
    let text = match stranger(request.uri(), request.headers(), allowed_hosts, &[]) {
        None => return Ok(()),
        Some(Stranger::Host(host)) => format!(
            "This port is for this machine, and the request is for {host}. Call 127.0.0.1, or start the store with \
             --allow-host {host}"
        ),
        Some(Stranger::Page(site)) => format!("A page of {site} may not call this port."),
    };
    Err(Refusal::new(403, text))
}

/// Returns the host, with its port, by which the caller came.
pub(super) fn authorities<'a>(uri: &'a Uri, of: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
    let named = of.get_all(header::HOST).iter().filter_map(|it| it.to_str().ok());
    uri.authority().map(Authority::as_str).into_iter().chain(named)
}

/// Returns an authority without its user and its port.
fn host(authority: &str) -> &str {
    let without_user = authority.rsplit('@').next().unwrap_or_default();
    match without_user.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => without_user,
    }
}

fn is_this_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|it| it.is_loopback())
}
