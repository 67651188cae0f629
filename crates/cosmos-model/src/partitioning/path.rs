//! Paths of properties, as in a container's definition: `/tenantId`, `/address/city`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

/// The path of a property of an item.
///
/// A name that holds a space or one of `/ , + ; " \` is written in quotation marks, as in a container's
/// definition: `/"full name"/first`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PropertyPath(Vec<String>);

/// The error of a text that is no path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a path: begin with / and the name of a property, such as /tenantId or /address/city"
)]
pub struct ParsePathError(String);

impl PropertyPath {
    /// Returns the path of a property at the top of an item.
    pub fn from_name(property: &str) -> Self {
        Self(vec![property.to_owned()])
    }

    /// Returns the path of these names, outermost first; `None` of none.
    pub fn from_names(names: Vec<String>) -> Option<Self> {
        (!names.is_empty()).then_some(Self(names))
    }

    /// Returns the names of the properties on the way, outermost first.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the value at this path of `item`, or `None` where the item does not have it.
    pub fn find<'a>(&self, item: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(item, |value, name| value.as_object()?.get(name))
    }

    /// Parses the path at the start of `text` and returns it with the rest.
    pub(crate) fn read(text: &str) -> Result<(Self, &str), ParsePathError> {
        let error = || ParsePathError(text.to_owned());
        let mut names = Vec::new();
        let mut rest = text;
        while let Some(name) = rest.strip_prefix('/') {
            let (name, after) = if name.starts_with('"') {
                read_quoted(name).ok_or_else(error)?
            } else {
                match name.split_at(name.find(needs_quotes).unwrap_or(name.len())) {
                    ("", _) => return Err(error()),
                    (name, after) => (name.to_owned(), after),
                }
            };
            names.push(name);
            rest = after;
        }
        if names.is_empty() { Err(error()) } else { Ok((Self(names), rest)) }
    }
}

fn needs_quotes(character: char) -> bool {
    character.is_whitespace() || "/,+;\"\\".contains(character)
}

/// Parses the text in quotation marks at the start of `text` and returns it with the rest.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter();
    let quoted = values.next()?.ok()?;
    Some((quoted, &text[values.byte_offset()..]))
}

impl fmt::Display for PropertyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for name in &self.0 {
            if name.is_empty() || name.contains(needs_quotes) {
                write!(f, "/{}", Value::from(name.as_str()))?;
            } else {
                write!(f, "/{name}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for PropertyPath {
    type Err = ParsePathError;

    fn from_str(text: &str) -> Result<Self, ParsePathError> {
        match Self::read(text)? {
            (path, "") => Ok(path),
            _ => Err(ParsePathError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for PropertyPath {
    type Error = ParsePathError;

    fn try_from(text: String) -> Result<Self, ParsePathError> {
        text.parse()
    }
}

impl From<PropertyPath> for String {
    fn from(path: PropertyPath) -> Self {
        path.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_properties_are_found() {
        let item = json!({"address": {"city": "Basel", "full name": 1}, "list": [1], "": 2});
        let find = |path: &str| path.parse::<PropertyPath>().unwrap().find(&item).cloned();
        assert_eq!(find("/address/city"), Some(json!("Basel")));
        assert_eq!(find(r#"/address/"full name""#), Some(json!(1)));
        assert_eq!(find(r#"/"""#), Some(json!(2)));
        assert_eq!(find("/address/street"), None);
        assert_eq!(find("/address/city/name"), None);
        assert_eq!(find("/list/0"), None);
    }

    #[test]
    fn other_texts_are_no_paths() {
        for text in [
            "", "/", "tenantId", "/a/", "//a", "/a b", "/a,/b", r#"/"a"#, r#"/"a\"#, r#"/"\x""#,
            "/a\"",
        ] {
            assert!(text.parse::<PropertyPath>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_path_of_any_names_comes_back(names in prop::collection::vec(any::<String>(), 1..4)) {
            let path = PropertyPath(names);
            prop_assert_eq!(path.to_string().parse(), Ok(path));
        }
    }
}
