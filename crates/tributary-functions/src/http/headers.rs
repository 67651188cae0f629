//! What the headers of a request may say, whatever its function.

use axum::http::{HeaderMap, HeaderName, header};

use super::{ApiError, item_command::IDEMPOTENCY_KEY};

/// The headers of which a request has one value, with the names of their errors. The consistency token is left
/// out: two of them are no token.
const SINGLE_VALUED: [(HeaderName, &str); 2] =
    [(header::CONTENT_TYPE, "Content-Type"), (IDEMPOTENCY_KEY, "Idempotency-Key")];

/// Checks that a header which is read once has one value, and that the body has no coding such as gzip.
pub(super) fn check(headers: &HeaderMap) -> Result<(), ApiError> {
    for (name, shown) in SINGLE_VALUED {
        let values = headers.get_all(name).iter().map(|value| n_values(value.as_bytes()));
        if values.sum::<usize>() > 1 {
            return Err(ApiError::invalid(
                shown,
                "must have one value, without a comma outside of quotes",
            ));
        }
    }
    let codings = headers.get_all(header::CONTENT_ENCODING);
    if codings.iter().all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        Ok(())
    } else {
        Err(ApiError::UnsupportedEncoding)
    }
}

/// Counts the values of a line. The Functions host joins all lines of a header by commas before the handler sees
/// them (RFC 9110, section 5.3), so a comma outside of quotes ends a value.
fn n_values(line: &[u8]) -> usize {
    let (mut is_quoted, mut is_escaped, mut n_values) = (false, false, 1);
    for byte in line {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_quoted,
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => n_values += 1,
            _ => {}
        }
    }
    n_values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_quotes_is_part_of_a_value() {
        for (line, n) in [
            ("application/json; charset=\"utf-8\"", 1),
            ("application/json; note=\"a, \\\", b\"", 1),
            ("\"a\", \"b\"", 2),
            ("a,b", 2),
        ] {
            assert_eq!(n_values(line.as_bytes()), n, "{line}");
        }
    }
}
