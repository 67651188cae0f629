//! The path of a request: as the host's server reads it, and as its proxy writes it again. The query
//! passes through the proxy alone.

/// An error: the path holds an escaped NUL, which the host answers with 400.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HasNul;

/// Decodes escapes, and then removes dot segments. An escaped slash stays escaped, and so does invalid
/// UTF-8.
pub(super) fn decoded(path: &str) -> Result<String, HasNul> {
    let mut decoded = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let (piece, n_bytes) = match escaped_char(rest) {
            Some('\0') => return Err(HasNul),
            Some(character) if character != '/' => (character, 3 * character.len_utf8()),
            _ => (first, first.len_utf8()),
        };
        decoded.push(piece);
        rest = rest.get(n_bytes..).unwrap_or_default();
    }
    Ok(without_dots(&decoded))
}

/// Returns the escaped character at the start of a text.
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
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            push_escape(&mut encoded, byte);
        }
    }
    encoded
}

/// Escapes all characters that a query may not hold. Escapes stay, and so `%25zz` is written as `%zz`
/// is.
pub(super) fn encoded_query(query: &str) -> String {
    let mut encoded = String::with_capacity(query.len());
    for (index, byte) in query.bytes().enumerate() {
        let is_escape = || {
            byte == b'%' && query.as_bytes().get(index + 1..index + 3).and_then(hex_byte).is_some()
        };
        let may_stand = byte.is_ascii_alphanumeric() || b";/?:@&=+$,#[]!'()*-._~".contains(&byte);
        if may_stand || is_escape() {
            encoded.push(char::from(byte));
        } else {
            push_escape(&mut encoded, byte);
        }
    }
    encoded
}

fn push_escape(text: &mut String, byte: u8) {
    text.push('%');
    for digit in [byte >> 4, byte & 15] {
        text.push(char::from(b"0123456789ABCDEF"[usize::from(digit)]));
    }
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
            assert_eq!(decoded(path).as_deref(), Ok(expected), "{path}");
        }
        assert_eq!(decoded("/a%00b"), Err(HasNul));
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
