//! The callers that a port of this machine answers.
//!
//! A page of any site can send requests to 127.0.0.1. Under a name that its site resolves to 127.0.0.1, it also
//! reads the answers (DNS rebinding). A browser names the page's site in `Origin`, and the name in `Host`.

use std::net::IpAddr;

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri, header};

/// The name that lets everyone call, also pages of other sites.
const EVERYONE: &str = "*";

/// Returns why a request is refused, with what to do: its host is neither this machine's nor one of
/// `allowed_hosts`, or it comes from a page that is neither this port's nor of one of the sites `origins`.
pub(crate) fn refusal(
    uri: &Uri,
    headers: &HeaderMap,
    allowed_hosts: &[String],
    origins: &[String],
) -> Option<String> {
    let is_allowed =
        |host: &str| allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host));
    if is_allowed(EVERYONE) {
        return None;
    }
    let named = headers.get_all(header::HOST).iter().filter_map(|host| host.to_str().ok());
    let authorities: Vec<&str> =
        uri.authority().map(Authority::as_str).into_iter().chain(named).collect();
    for authority in &authorities {
        let parsed = authority.parse::<Authority>();
        let host = parsed.as_ref().map_or(*authority, Authority::host);
        if !host.is_empty() && !is_this_machine(host) && !is_allowed(host) {
            return Some(format!(
                "This port is for this machine, and the request is for {host}. Call 127.0.0.1, or start with \
                 --allow-host {host}"
            ));
        }
    }
    let mut sent_by =
        headers.get_all(header::ORIGIN).iter().map(|origin| origin.to_str().unwrap_or_default());
    let stranger = sent_by.find(|origin| {
        let own = origin.split_once("://").is_some_and(|(_, site)| authorities.contains(&site));
        !own && !is_listed(origins, origin)
    })?;
    Some(format!(
        "A page of {stranger} may not call this port. If it is yours, add its address to Host.CORS in \
         local.settings.json"
    ))
}

/// Returns true if a list of sites has the site of a page.
pub(crate) fn is_listed(origins: &[String], origin: &str) -> bool {
    origins.iter().any(|listed| listed == EVERYONE || listed.eq_ignore_ascii_case(origin))
}

fn is_this_machine(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|it| it.is_loopback())
}
