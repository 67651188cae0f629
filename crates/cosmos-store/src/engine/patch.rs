//! Partial updates.

use cosmos_model::partitioning::path::PropertyPath;

use super::record::SYSTEM_PROPERTIES;
use crate::{Refusal, Result, json::Json};

/// The service's limit.
const MAX_OPERATIONS: usize = 10;

fn refused(text: impl Into<String>) -> Refusal {
    Refusal::new(400, text)
}

/// Carries out operations on an item. Errors: 400 for an operation that is none, and for a path that does not exist
/// or must not be patched.
pub(super) fn apply(item: &mut Json, operations: &[Json], keys: &[PropertyPath]) -> Result<()> {
    if operations.is_empty() || operations.len() > MAX_OPERATIONS {
        let text = format!(
            "The number of patch operations can't exceed '{MAX_OPERATIONS}', and there must be one."
        );
        return Err(refused(text));
    }
    for operation in operations {
        let text = |name: &str| match operation.get(name) {
            Some(Json::Text(text)) => Ok(&**text),
            _ => Err(refused(format!("A patch operation has no text '{name}'."))),
        };
        let path = Path::new(text("path")?, keys)?;
        let value = operation.get("value");
        let value = || value.cloned().ok_or_else(|| refused("A patch operation has no value."));
        match text("op")?.to_ascii_lowercase().as_str() {
            "add" => path.put(item, value()?, true)?,
            "set" => path.put(item, value()?, false)?,
            "replace" => *path.find(item)? = value()?,
            "remove" => _ = path.remove(item)?,
            "incr" | "increment" => {
                let Json::Number(by) = value()? else {
                    return Err(refused("The value of an increment is a number."));
                };
                match path.find(item) {
                    Ok(Json::Number(number)) if (*number + by).is_finite() => *number += by,
                    Ok(_) => return Err(refused(format!("'{}' is no number.", path.text))),
                    Err(_) => path.put(item, Json::Number(by), false)?,
                }
            }
            "move" => {
                let from = Path::new(text("from")?, keys)?;
                if path.names.len() > from.names.len() && path.names.starts_with(&from.names) {
                    return Err(refused("A value cannot be moved into itself."));
                }
                let value = from.remove(item)?;
                path.put(item, value, true)?;
            }
            other => return Err(refused(format!("'{other}' is no patch operation."))),
        }
    }
    Ok(())
}

/// A path of names and places in arrays.
struct Path<'a> {
    text: &'a str,
    names: Vec<String>,
}

impl<'a> Path<'a> {
    fn new(text: &'a str, key_paths: &[PropertyPath]) -> Result<Self> {
        let names = text.strip_prefix('/').filter(|rest| !rest.is_empty());
        let names = names.ok_or_else(|| refused(format!("The path '{text}' is invalid.")))?;
        let names: Vec<_> =
            names.split('/').map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
        let first = names.first().map_or("", String::as_str);
        let of_key = |path: &PropertyPath| path.names().iter().zip(&names).all(|(a, b)| a == b);
        if first == "id" || SYSTEM_PROPERTIES.contains(&first) || key_paths.iter().any(of_key) {
            return Err(refused(format!(
                "The path '{text}' cannot be patched: it is the id, part of the partition key, or written by the service."
            )));
        }
        Ok(Self { text, names })
    }

    fn missing(&self) -> Refusal {
        refused(format!("The path '{}' does not exist in the item.", self.text))
    }

    /// Returns the array or object that has the value at the path, and the last name.
    fn parent<'v>(&self, item: &'v mut Json) -> Result<(&'v mut Json, &str)> {
        let (last, names) = self.names.split_last().ok_or_else(|| self.missing())?;
        let parent = names
            .iter()
            .try_fold(item, |value, name| child(value, name))
            .ok_or_else(|| self.missing())?;
        Ok((parent, last))
    }

    fn find<'v>(&self, item: &'v mut Json) -> Result<&'v mut Json> {
        let (parent, last) = self.parent(item)?;
        child(parent, last).ok_or_else(|| self.missing())
    }

    /// Writes a property, or an element of an array: `insert` puts it in front of the one at its place.
    fn put(&self, item: &mut Json, value: Json, insert: bool) -> Result<()> {
        match self.parent(item)? {
            (Json::Object(properties), name) => {
                match properties.iter_mut().rev().find(|(other, _)| **other == *name) {
                    Some((_, old)) => *old = value,
                    None => properties.push((name.into(), value)),
                }
                Ok(())
            }
            (Json::Array(values), "-") => {
                values.push(value);
                Ok(())
            }
            (Json::Array(values), place) => {
                let place = place.parse::<usize>().ok().filter(|place| *place <= values.len());
                let place = place.ok_or_else(|| self.missing())?;
                match values.get_mut(place).filter(|_| !insert) {
                    Some(old) => *old = value,
                    None => values.insert(place, value),
                }
                Ok(())
            }
            _ => Err(self.missing()),
        }
    }

    fn remove(&self, item: &mut Json) -> Result<Json> {
        let removed = match self.parent(item)? {
            (Json::Object(properties), name) => {
                let place = properties.iter().rposition(|(other, _)| **other == *name);
                let removed = place.map(|place| properties.remove(place).1);
                properties.retain(|(other, _)| **other != *name);
                removed
            }
            (Json::Array(values), place) => {
                let place = place.parse::<usize>().ok().filter(|place| *place < values.len());
                place.map(|place| values.remove(place))
            }
            _ => None,
        };
        removed.ok_or_else(|| self.missing())
    }
}

fn child<'v>(value: &'v mut Json, name: &str) -> Option<&'v mut Json> {
    match value {
        Json::Object(properties) => {
            properties.iter_mut().rev().find(|(other, _)| **other == *name).map(|(_, value)| value)
        }
        Json::Array(values) => values.get_mut(name.parse::<usize>().ok()?),
        _ => None,
    }
}
