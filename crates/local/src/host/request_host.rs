//! The `Host` of a request, checked as the host's server checks it (RFC 9112, section 3.2).

use axum::http::{HeaderMap, Method, Uri, Version, header};

/// Returns true if the host's server accepts the `Host` headers of an HTTP/1 request.
///
/// HTTP/1.1 asks for exactly one, HTTP/1.0 for one at most. A target with an authority asks for the
/// same one in the header.
pub(super) fn is_valid(
    method: &Method,
    target: &Uri,
    version: Version,
    headers: &HeaderMap,
) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) => version < Version::HTTP_11,
        (Some(host), None) => {
            host.to_str().is_ok_and(|host| is_authority(host) && is_of(method, target, host))
        }
        (Some(_), Some(_)) => false,
    }
}

/// Returns true if the target has no other authority than the header. Port 80 may be omitted.
fn is_of(method: &Method, target: &Uri, host: &str) -> bool {
    let Some(authority) = target.authority() else {
        return true;
    };
    if *method == Method::CONNECT {
        return host == authority.as_str();
    }
    let name = authority.host().to_ascii_lowercase();
    match authority.port_u16().filter(|port| *port != 80) {
        Some(port) => host == format!("{name}:{port}"),
        None => host == name || host == format!("{name}:80"),
    }
}

/// Returns true for nothing, and for a name or an address with or without a port.
fn is_authority(host: &str) -> bool {
    let (is_name, port) = if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b':' || byte == b'.';
        // The shortest is `::1`.
        (address.len() >= 3 && address.bytes().all(is_part), port)
    } else {
        let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!$&'()-._~".contains(&byte);
        (name.bytes().all(is_part) && (!name.is_empty() || port.is_empty()), port)
    };
    let digits = port.strip_prefix(':');
    let is_port =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_name && digits.map_or(port.is_empty(), is_port)
}
