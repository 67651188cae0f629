//! The path of a request: as the host's server reads it, and as its proxy writes it again. The query
//! passes through the proxy alone.

use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, Uri, Version, header};

/// Decodes escapes, and then removes dot segments. An escaped slash stays escaped, and so does invalid
/// UTF-8. Returns `None` for an escaped NUL, which the host answers with 400.
pub(super) fn decoded(path: &str) -> Option<String> {
    let mut decoded = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let (piece, n_bytes) = match escaped_char(rest) {
            Some('\0') => return None,
            Some(character) if character != '/' => (character, 3 * character.len_utf8()),
            _ => (first, first.len_utf8()),
        };
        decoded.push(piece);
        rest = rest.get(n_bytes..).unwrap_or_default();
    }
    Some(without_dots(&decoded))
}

fn escaped_char(text: &str) -> Option<char> {
    let mut bytes = [0; 4];
    let mut escapes = text.as_bytes().chunks(3);
    for n_bytes in 1..=4 {
        let [b'%', hex @ ..] = escapes.next()? else {
            return None;
        };
        bytes[n_bytes - 1] = hex_byte(hex)?;
        match std::str::from_utf8(&bytes[..n_bytes]) {
            Ok(character) => return character.chars().next(),
            // Further bytes can still complete it.
            Err(error) if error.error_len().is_none() => {}
            Err(_) => return None,
        }
    }
    None
}

fn hex_byte(text: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let [high, low] = text else {
        return None;
    };
    Some(digit(*high)? << 4 | digit(*low)?)
}

/// Removes `.` and `..` (RFC 3986, section 5.2.4).
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            ".." => {
                kept.pop();
            }
            "." => {}
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if segments.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

/// Escapes all characters that a path may not hold. A percent sign is escaped too, so `%2F` becomes
/// `%252F`.
pub(super) fn encoded(path: &str) -> String {
    escaped(path, |_, byte| b"-._~!$&'()*+,;=:@/".contains(&byte))
}

/// Escapes all characters that a query may not hold. Escapes stay, and so `%25zz` is written as `%zz` is.
pub(super) fn encoded_query(query: &str) -> String {
    let is_escape = |at: usize| query.as_bytes().get(at + 1..at + 3).and_then(hex_byte).is_some();
    escaped(query, |at, byte| {
        b";/?:@&=+$,#[]!'()*-._~".contains(&byte) || (byte == b'%' && is_escape(at))
    })
}

fn escaped(text: &str, stays: impl Fn(usize, u8) -> bool) -> String {
    let escape = |(at, byte): (usize, u8)| match char::from(byte) {
        letter if byte.is_ascii_alphanumeric() || stays(at, byte) => letter.to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().enumerate().map(escape).collect()
}

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
    let Ok(authority) = host.parse::<Authority>() else { return host.is_empty() };
    let has_port = authority.port_u16().is_some();
    let is_whole = has_port || authority.host().len() == host.len();
    is_whole && !authority.host().is_empty() && !host.contains(['@', ','])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_is_decoded_once() {
        for (path, expected) in [
            ("/", "/"),
            ("/api/f%65ed", "/api/feed"),
            ("/a%2Fb%2f", "/a%2Fb%2f"),
            ("/a%252Fb", "/a%2Fb"),
            ("/%zz%", "/%zz%"),
            ("/%ff%C3", "/%ff%C3"),
            ("/%C3%BC%F0%9F%98%80", "/ü😀"),
            ("/%C3%41", "/%C3A"),
            ("/%ED%A0%80", "/%ED%A0%80"),
            ("/a/./b/../c", "/a/c"),
            ("/a/%2e%2e/b/.", "/b/"),
            ("/../..", "/"),
            ("/a//b", "/a//b"),
        ] {
            assert_eq!(decoded(path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(decoded("/a%00b"), None);
    }

    proptest! {
        #[test]
        fn a_written_path_reads_as_the_same_path(text in "(/[^/\0]{0,8}){1,5}") {
            let read = decoded(&text).unwrap();
            let written = encoded(&read);
            prop_assert!(written.parse::<http::Uri>().is_ok(), "{written}");
            // Only an escape that stayed is escaped once more.
            prop_assert_eq!(decoded(&written).unwrap(), read);
        }
    }
}
