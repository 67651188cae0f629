//! What a provider writes.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, SeqAccess, Visitor},
    ser,
};
use serde_json::{Map, Value};
use url::Url;

use tributary_functions::values::{self, Invalid, check_length};

values::checked_text!(
    /// A title: 1 to 500 characters.
    Title,
    "A bridge reopens",
    |text| check_length(&text, 1, 500).map(|()| text)
);

values::checked_text!(
    /// A tag: 1 to 100 characters.
    Tag,
    "traffic",
    |text| check_length(&text, 1, 100).map(|()| text)
);

values::checked_text!(
    /// A content: at most 64 KiB in UTF-8, without control characters but tabs and line breaks.
    Content,
    "The old bridge is open again.",
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
    "https://news.example.com/bridge",
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

/// What a crawler adds: any JSON object. It is kept as its text, in the order of its names and without
/// space: parsed it can take 16 times as much.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "Fields", inline)]
pub struct Metadata(String);

impl Metadata {
    /// Checks size and depth of an object.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        // The size is known before anything is kept.
        let is_small = serde_json::from_str(text).is_ok_and(|Compact(bytes)| bytes <= MAX_METADATA);
        let fields =
            Some(text).filter(|_| is_small).and_then(|text| serde_json::from_str(text).ok());
        let is_flat =
            |fields: &Fields| fields.values().all(|value| is_at_most(MAX_DEPTH - 1, value));
        fields.filter(is_flat).map(Self::from).ok_or_else(|| {
            Invalid(format!(
                "must be an object of at most {MAX_METADATA} bytes and {MAX_DEPTH} levels"
            ))
        })
    }
}

type Fields = Map<String, Value>;

impl From<Fields> for Metadata {
    fn from(fields: Fields) -> Self {
        Self(Value::Object(fields).to_string())
    }
}

impl Default for Metadata {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields: Fields = serde_json::from_str(&self.0).map_err(ser::Error::custom)?;
        fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fields::deserialize(deserializer).map(Self::from)
    }
}

/// How many bytes a JSON text takes without space, if each name stands once.
struct Compact(usize);

impl<'de> Deserialize<'de> for Compact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Count;

        /// Of a value that is itself small beside its text.
        fn of<E: de::Error>(value: impl Serialize) -> Result<Compact, E> {
            serde_json::to_string(&value).map(|text| Compact(text.len())).map_err(E::custom)
        }

        impl<'de> Visitor<'de> for Count {
            type Value = Compact;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E: de::Error>(self) -> Result<Compact, E> {
                of(())
            }

            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Compact, E> {
                of(value)
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Compact, E> {
                of(value)
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Compact, E> {
                of(value)
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Compact, E> {
                of(value)
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Compact, E> {
                of(value)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Compact, A::Error> {
                // A comma or a bracket comes before each element.
                let mut bytes = 1;
                while let Some(Compact(element)) = list.next_element()? {
                    bytes += element + 1;
                }
                Ok(Compact(bytes.max(2)))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Compact, A::Error> {
                let mut bytes = 1;
                while let Some((Compact(name), Compact(value))) = fields.next_entry()? {
                    bytes += name + value + 2;
                }
                Ok(Compact(bytes.max(2)))
            }
        }

        deserializer.deserialize_any(Count)
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
        let parse = |value: Value| Metadata::parse(&serde_json::to_string_pretty(&value).unwrap());
        assert!(parse(nested(MAX_DEPTH)).is_ok());
        assert!(parse(nested(MAX_DEPTH + 1)).is_err());
        assert!(parse(json!({"a": "x".repeat(MAX_METADATA - 8)})).is_ok());
        assert!(parse(json!({"a": "x".repeat(MAX_METADATA - 7)})).is_err());
    }

    #[test]
    fn metadata_is_the_same_however_it_is_written() {
        let parse = |text: &str| Metadata::parse(text).unwrap();
        let one = parse(r#"{"b": [1, 2.50, "\u0041\n", null], "a": {}}"#);
        assert_eq!(one, parse("{\"a\":{},\"b\":[1,2.5,\"A\\n\",null]}"));
        assert_eq!(serde_json::to_string(&one).unwrap(), one.0);
        assert_eq!(serde_json::from_str::<Metadata>(&one.0).unwrap(), one);
        let Compact(bytes) = serde_json::from_str(&one.0).unwrap();
        assert_eq!(bytes, one.0.len());
        assert!(Metadata::parse("[]").is_err());
    }
}
