//! The texts of an item: title, tags, content, address, metadata.

use url::Url;

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

    /// The address of an article: an absolute URL of http or https, at most 2,048 bytes, as it was
    /// written.
    SourceUrl, "https://news.example.com/bridge", |text| {
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let url = Some(&text).filter(|text| text.len() <= MAX_URL_BYTES && !text.contains(' '));
        match url.and_then(|text| Url::parse(text).ok()).filter(is_web) {
            Some(_) => Ok(text),
            None => Err(Invalid(format!(
                "must be an absolute http or https URL of at most {MAX_URL_BYTES} bytes"
            ))),
        }
    }
);

pub const MAX_TAGS: usize = 50;

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
        for good in ["https://example.com/a?b=c#d", "http://[::1]:8080/", "https://bücher.example"]
        {
            assert!(SourceUrl::parse(good.into()).is_ok(), "{good}");
        }
        let long = format!("https://example.com/{}", "a".repeat(MAX_URL_BYTES));
        for bad in [
            "",
            "example.com",
            "/a",
            "ftp://example.com/a",
            "https://",
            "mailto:a@b",
            "https://a b",
            &long,
        ] {
            assert!(SourceUrl::parse(bad.into()).is_err(), "{bad}");
        }
    }
}
