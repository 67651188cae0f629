//! The partition key of an item.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// A partition key: a value, or the values of up to three levels of a hierarchical key.
///
/// Its `Display` is the JSON array of the header `x-ms-documentdb-partitionkey`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Key(Vec<KeyValue>);

/// One value of a partition key. As for the service, `1` and `1.0` are the same number, `1` and `"1"` are
/// different values, and so are a missing property and `null`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum KeyValue {
    /// The item does not have the property. All such items share a logical partition.
    Undefined,
    /// The property is `null`. All such items share a logical partition.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, in one form for equal numbers ([`KeyValue::from_property`]).
    Number(Number),
    /// A string, compared by its code points: the service does not fold the case.
    Text(String),
}

impl Key {
    /// Returns the values of all levels.
    pub fn values(&self) -> &[KeyValue] {
        &self.0
    }

    pub(crate) fn with(&self, value: KeyValue) -> Self {
        let mut values = self.0.clone();
        values.push(value);
        Self(values)
    }
}

impl FromIterator<KeyValue> for Key {
    fn from_iter<T: IntoIterator<Item = KeyValue>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self(vec![KeyValue::Text(text.to_owned())])
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (level, value) in self.0.iter().enumerate() {
            let comma = if level > 0 { "," } else { "" };
            write!(f, "{comma}{}", Value::from(value.clone()))?;
        }
        f.write_str("]")
    }
}

impl KeyValue {
    /// Returns the key value of a property; `None` is a property that the item lacks. Returns `None` for an object
    /// or an array.
    pub fn from_property(property: Option<&Value>) -> Option<Self> {
        Some(match property {
            None => Self::Undefined,
            Some(Value::Null) => Self::Null,
            Some(Value::Bool(value)) => Self::Bool(*value),
            Some(Value::Number(number)) => Self::Number(normalized(number)),
            Some(Value::String(text)) => Self::Text(text.clone()),
            Some(Value::Array(_) | Value::Object(_)) => return None,
        })
    }

    /// Returns the text of this value as a part of a joined key, or `None` where there is no value.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Undefined | Self::Null => None,
            Self::Bool(value) => Some(value.to_string()),
            // The digits of the standard library: without an exponent, and stable.
            Self::Number(number) => number.as_f64().map(|number| number.to_string()),
            Self::Text(text) => Some(text.clone()),
        }
    }
}

impl TryFrom<Value> for KeyValue {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        Self::from_property(Some(&value)).ok_or(
            "an object or an array cannot be a value of a partition key: name a property within it",
        )
    }
}

impl From<KeyValue> for Value {
    /// Returns the JSON of a key value; `{}` for an undefined one, as for the service.
    fn from(value: KeyValue) -> Self {
        match value {
            KeyValue::Undefined => Self::Object(serde_json::Map::new()),
            KeyValue::Null => Self::Null,
            KeyValue::Bool(value) => Self::Bool(value),
            KeyValue::Number(number) => Self::Number(number),
            KeyValue::Text(text) => Self::String(text),
        }
    }
}

/// Returns the normal form of a number: `1` and `1.0` are equal, since the service's numbers are doubles.
fn normalized(number: &Number) -> Number {
    const EXACT_BELOW: f64 = 9_007_199_254_740_992.0; // 2^53
    let Some(double) = number.as_f64() else { return number.clone() };
    if double.fract() == 0.0 && double.abs() < EXACT_BELOW {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 53 bits")]
        return Number::from(double as i64);
    }
    Number::from_f64(double).unwrap_or_else(|| number.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value(json: &Value) -> KeyValue {
        KeyValue::from_property(Some(json)).unwrap()
    }

    #[test]
    fn equal_numbers_are_one_key_and_other_values_are_not() {
        assert_eq!(value(&json!(1)), value(&json!(1.0)));
        assert_eq!(value(&json!(0)), value(&json!(-0.0)));
        assert_eq!(
            value(&json!(9_007_199_254_740_992_u64)),
            value(&json!(9_007_199_254_740_993_u64))
        );
        assert_ne!(value(&json!(1)), value(&json!("1")));
        assert_ne!(value(&json!(1.5)), value(&json!(1)));
        // The guide looks up providers in lower case and stores them as they are.
        assert_ne!(value(&json!("Reuters")), value(&json!("reuters")));
    }

    /// Texts of numbers are parts of stored keys, so they are pinned.
    #[test]
    fn numbers_in_a_joined_key_have_no_exponent() {
        let text = |number| value(&number).text().unwrap();
        assert_eq!(text(json!(17)), "17");
        assert_eq!(text(json!(-0.0)), "0");
        assert_eq!(text(json!(1.5e-7)), "0.00000015");
        assert_eq!(text(json!(1e21)), "1000000000000000000000");
        assert_eq!(text(json!(0.1)), "0.1");
    }

    #[test]
    fn a_key_is_displayed_in_the_form_of_the_service() {
        let key: Key = [json!("contoso"), json!(7.0), Value::Null].iter().map(value).collect();
        assert_eq!(key.to_string(), r#"["contoso",7,null]"#);
        assert_eq!(Key::from_iter([KeyValue::Undefined]).to_string(), "[{}]");
        assert_eq!(Key::from(r#"a"b"#).to_string(), r#"["a\"b"]"#);
    }
}
