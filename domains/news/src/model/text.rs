//! The texts of an item: title, tags, content, address, metadata.

use url::{Host, Url};

use tributary_functions::values::{self, Invalid, JsonObject, length_rule};

values::checked_text!(
    /// A title: 1 to 500 characters.
    Title, "A bridge reopens", length_rule(1..=500);

    /// A tag: 1 to 100 characters.
    Tag, "traffic", length_rule(1..=100);

    /// A content: at most 64 KiB in UTF-8, without control characters but tabs and line breaks.
    Content, "The old bridge is open again.", |text| {
        let is_bad = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        if text.len() > MAX_CONTENT_BYTES {
            Err(Invalid(format!("must be at most {MAX_CONTENT_BYTES} bytes in UTF-8")))
        } else if text.contains(is_bad) {
            Err("must not have control characters".into())
        } else {
            Ok(text)
        }
    };

    /// The address of an article: an absolute URL of http or https without credentials, at most 2,048
    /// bytes, as it was written.
    SourceUrl, "https://news.example.com/bridge", |text| {
        if text.len() <= MAX_URL_BYTES && is_absolute_address(&text) {
            Ok(text)
        } else {
            Err(Invalid(format!(
                "must be an absolute http or https URL of at most {MAX_URL_BYTES} bytes, without credentials"
            )))
        }
    }
);

/// Returns true for an absolute URL as it is written. The parser alone takes what a browser would mend: line
/// breaks, backslashes, missing and further slashes, a lone `%`, an IP address in any notation.
fn is_absolute_address(text: &str) -> bool {
    let is_bad = |c: char| c.is_control() || c.is_whitespace() || "\"<>\\^`{|}".contains(c);
    let is_encoded = |part: &str| part.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    let Ok(url) = Url::parse(text) else { return false };
    let rest = text.get(url.scheme().len()..).and_then(|rest| rest.strip_prefix("://"));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let is_host = match url.host() {
        Some(Host::Ipv4(host)) => authority.split(':').next() == Some(&host.to_string()),
        host => host.is_some(),
    };
    matches!(url.scheme(), "http" | "https")
        && !authority.is_empty()
        && !authority.contains('@')
        && is_host
        && !text.contains(is_bad)
        && text.split('%').skip(1).all(is_encoded)
}

impl SourceUrl {
    /// Returns the normal form, by which addresses are compared (RFC 3986, sections 6.2.2 and 6.2.3).
    pub fn normal(&self) -> String {
        // It has no dot segment, default port or upper case in scheme and host.
        let url = Url::parse(self.as_str()).map_or_else(|_| self.to_string(), String::from);
        let mut parts = url.split('%');
        let mut normal = parts.next().unwrap_or_default().to_owned();
        for (hex, rest) in parts.filter_map(|part| part.split_at_checked(2)) {
            match u8::from_str_radix(hex, 16).map(char::from) {
                Ok(c) if c.is_ascii_alphanumeric() || "-._~".contains(c) => normal.push(c),
                _ => normal.extend(["%", &hex.to_ascii_uppercase()]),
            }
            normal.push_str(rest);
        }
        normal
    }
}

pub(super) const MAX_TAGS: usize = 50;
pub(super) const MAX_CONTENT_BYTES: usize = 64 * 1024;
pub(super) const MAX_URL_BYTES: usize = 2_048;
pub(super) const MAX_METADATA_BYTES: usize = 16 * 1024;

/// Metadata of a crawler: any JSON object. The store accepts 128 levels in all.
pub type Metadata = JsonObject<MAX_METADATA_BYTES, 32>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_an_absolute_one_of_the_web() {
        for good in [
            "https://example.com/a?b=c#d",
            "http://[::1]:8080/",
            "https://bücher.example",
            "http://127.0.0.1:80?a=%c3%BC",
            "https://example.com?at=@",
        ] {
            assert!(SourceUrl::parse(good.into()).is_ok(), "{good}");
        }
        let long = format!("https://example.com/{}", "a".repeat(MAX_URL_BYTES));
        let bad = "example.com /a ftp://example.com/a https:// mailto:a@b https:a https:/a https:///a \
            https:b://a https:\\\\a\\b https://a\\b https://a/%zz https://a/%4 https://a/%éé \
            https://ann:secret@a https://@a https://a/<b> https://0x7f.1/ https://127.1 https://a:99999";
        let odd =
            ["", "https://a b", "https://a/b\nc", "https://a/\tb", "https://a/b\0", " https://a"];
        for bad in bad.split(' ').chain(odd).chain([&*long]) {
            assert!(SourceUrl::parse(bad.into()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses_are_compared_in_their_normal_form() {
        let normal = |text: &str| SourceUrl::parse(text.to_owned()).unwrap().normal();
        for (one, other) in [
            ("HTTPS://News.Example.COM:443", "https://news.example.com/"),
            ("http://a:080/x/./y/../%7eb%2f%e9", "http://a/x/~b%2F%E9"),
            ("http://a/%2e%2E/b/%41?%61=%20#%5f", "http://a/b/A?a=%20#_"),
            ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
        ] {
            assert_eq!([normal(one), normal(other)], [other, other]);
        }
        for (one, other) in [("a/b", "a/B"), ("a/b", "a/b/"), ("a?", "a"), ("a/%2F", "a//")] {
            assert_ne!(normal(&format!("http://{one}")), normal(&format!("http://{other}")));
        }
    }
}
