//! JSON objects that a caller chooses, with limits.

use std::io;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::{Map, Value};

use super::Invalid;

/// Any JSON object of at most `BYTES` bytes and `LEVELS` levels, as text without space, sorted by names.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(with = "Fields", inline)]
pub struct JsonObject<const BYTES: usize, const LEVELS: usize>(String);

impl<const BYTES: usize, const LEVELS: usize> JsonObject<BYTES, LEVELS> {
    /// Checks size and depth of an object.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        // The size is checked before the object is parsed.
        let is_small = compact_bytes(text.as_bytes()).is_ok_and(|bytes| bytes <= BYTES);
        let fields =
            Some(text).filter(|_| is_small).and_then(|text| serde_json::from_str(text).ok());
        let is_flat = |fields: &Fields| fields.values().all(|value| is_at_most(LEVELS - 1, value));
        fields.filter(is_flat).map(Self::from).ok_or_else(|| {
            Invalid(format!("must be an object of at most {BYTES} bytes and {LEVELS} levels"))
        })
    }
}

type Fields = Map<String, Value>;

impl<const BYTES: usize, const LEVELS: usize> From<Fields> for JsonObject<BYTES, LEVELS> {
    fn from(fields: Fields) -> Self {
        Self(Value::Object(fields).to_string())
    }
}

impl<const BYTES: usize, const LEVELS: usize> Default for JsonObject<BYTES, LEVELS> {
    fn default() -> Self {
        Self("{}".to_owned())
    }
}

impl<const BYTES: usize, const LEVELS: usize> Serialize for JsonObject<BYTES, LEVELS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fields: Fields = serde_json::from_str(&self.0).map_err(ser::Error::custom)?;
        fields.serialize(serializer)
    }
}

impl<'de, const BYTES: usize, const LEVELS: usize> Deserialize<'de> for JsonObject<BYTES, LEVELS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Fields::deserialize(deserializer).map(Self::from)
    }
}

/// Reads a JSON text through, and returns its bytes without space, if each name occurs once.
pub(crate) fn compact_bytes(text: &[u8]) -> serde_json::Result<usize> {
    struct Count(usize);

    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    let mut from = serde_json::Deserializer::from_slice(text);
    serde_transcode::transcode(&mut from, &mut serde_json::Serializer::new(&mut count))?;
    from.end()?;
    Ok(count.0)
}

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

    const BYTES: usize = 1_024;
    const LEVELS: usize = 32;

    type Small = JsonObject<BYTES, LEVELS>;

    #[test]
    fn an_object_has_a_limit_of_size_and_of_depth() {
        let nested = |levels| (0..levels).fold(json!(1), |value, _| json!({"a": value}));
        let parse = |value: Value| Small::parse(&serde_json::to_string_pretty(&value).unwrap());
        assert!(parse(nested(LEVELS)).is_ok());
        assert!(parse(nested(LEVELS + 1)).is_err());
        assert!(parse(json!({"a": "x".repeat(BYTES - 8)})).is_ok());
        assert!(parse(json!({"a": "x".repeat(BYTES - 7)})).is_err());
    }

    #[test]
    fn an_object_is_the_same_however_it_is_written() {
        let parse = |text: &str| Small::parse(text).unwrap();
        let one = parse(r#"{"b": [1, 2.50, "\u0041\n", null], "a": {}}"#);
        assert_eq!(one, parse("{\"a\":{},\"b\":[1,2.5,\"A\\n\",null]}"));
        assert_eq!(serde_json::to_string(&one).unwrap(), one.0);
        assert_eq!(serde_json::from_str::<Small>(&one.0).unwrap(), one);
        assert_eq!(compact_bytes(one.0.as_bytes()).unwrap(), one.0.len());
        assert!(Small::parse("[]").is_err());
    }
}
