//! What a provider writes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::values::{self, Invalid, check_length};

values::checked_text!(
    /// A title: 1 to 500 characters.
    Title,
    |text| check_length(&text, 1, 500).map(|()| text)
);

values::checked_text!(
    /// A tag: 1 to 100 characters.
    Tag,
    |text| check_length(&text, 1, 100).map(|()| text)
);

values::checked_text!(
    /// A content: at most 64 KiB in UTF-8, without control characters but tabs and line breaks.
    Content,
    |text| {
        let is_bad = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        if text.len() > MAX_CONTENT {
            Err(Invalid(format!("must be at most {MAX_CONTENT} bytes in UTF-8")))
        } else if text.contains(is_bad) {
            Err("must not have control characters".into())
        } else {
            Ok(text)
        }
    }
);

values::checked_text!(
    /// The address of an article: an absolute URL of http or https, at most 2,048 bytes, as it was
    /// written.
    SourceUrl,
    |text| {
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let url = Some(&text).filter(|text| text.len() <= MAX_URL && !text.contains(' '));
        match url.and_then(|text| Url::parse(text).ok()).filter(is_web) {
            Some(_) => Ok(text),
            None => Err(Invalid(format!(
                "must be an absolute http or https URL of at most {MAX_URL} bytes"
            ))),
        }
    }
);

/// The most tags of an item.
pub const MAX_TAGS: usize = 50;

/// The most bytes of a content.
pub(super) const MAX_CONTENT: usize = 64 * 1024;
/// The most bytes of an address.
pub(super) const MAX_URL: usize = 2_048;
/// The most bytes of metadata, as JSON.
pub(super) const MAX_METADATA: usize = 16 * 1024;
/// How deep metadata may be nested. The store takes 128 levels in all.
const MAX_DEPTH: usize = 32;

/// What a crawler adds: any JSON object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    /// Checks size and depth.
    pub fn new(fields: Map<String, Value>) -> Result<Self, Invalid> {
        let value = Value::Object(fields);
        let size = serde_json::to_vec(&value).map_or(usize::MAX, |text| text.len());
        match value {
            Value::Object(fields)
                if size <= MAX_METADATA
                    && fields.values().all(|value| is_at_most(MAX_DEPTH - 1, value)) =>
            {
                Ok(Self(fields))
            }
            _ => Err(Invalid(format!(
                "must be an object of at most {MAX_METADATA} bytes and {MAX_DEPTH} levels"
            ))),
        }
    }
}

/// Returns true if a value has at most so many levels.
fn is_at_most(levels: usize, value: &Value) -> bool {
    match value {
        Value::Array(values) => {
            levels > 0 && values.iter().all(|value| is_at_most(levels - 1, value))
        }
        Value::Object(fields) => {
            levels > 0 && fields.values().all(|value| is_at_most(levels - 1, value))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_an_absolute_one_of_the_web() {
        for good in ["https://example.com/a?b=c#d", "http://[::1]:8080/", "https://bücher.example"]
        {
            assert!(SourceUrl::parse(good.into()).is_ok(), "{good}");
        }
        let long = format!("https://example.com/{}", "a".repeat(MAX_URL));
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

    #[test]
    fn metadata_has_a_limit_of_size_and_of_depth() {
        let nested = |levels| (0..levels).fold(json!(1), |value, _| json!({"a": value}));
        let parse = |value: Value| Metadata::new(value.as_object().unwrap().clone());
        assert!(parse(nested(MAX_DEPTH)).is_ok());
        assert!(parse(nested(MAX_DEPTH + 1)).is_err());
        assert!(parse(json!({"a": "x".repeat(MAX_METADATA - 8)})).is_ok());
        assert!(parse(json!({"a": "x".repeat(MAX_METADATA - 7)})).is_err());
    }
}
