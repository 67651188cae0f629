//! The reader of an app's JSON files, with messages that name the file and the field.

use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use time::Time;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::settings::Settings;

/// The faults in the files of an app, one sentence for each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ConfigError(pub(super) Vec<String>);

impl ConfigError {
    pub(super) fn new(problem: impl Into<String>) -> Self {
        Self(vec![problem.into()])
    }
}

/// Reads a JSON file; also returns its short name for messages.
pub(super) fn read_json(path: &Path) -> Result<(String, Value), ConfigError> {
    let file = short_name(path);
    let text = std::fs::read_to_string(path)
        .map_err(|error| ConfigError::new(format!("{file}: cannot be read: {error}")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let json = serde_json::from_str(text)
        .map_err(|error| ConfigError::new(format!("{file}: is not valid JSON: {error}")))?;
    Ok((file, json))
}

/// An object in a file, or the place of a missing one.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    file: &'a str,
    path: String,
    fields: Option<&'a Map<String, Value>>,
}

impl<'a> Node<'a> {
    /// Returns the fields with the settings that their texts name, `%Name%`. A text that is only an empty setting
    /// is a field that is missing.
    pub(super) fn resolved(&self, settings: &Settings) -> Result<Map<String, Value>, ConfigError> {
        let mut fields = self.fields.cloned().unwrap_or_default();
        for (field, value) in &mut fields {
            let Value::String(text) = value else { continue };
            let known = settings.resolve(text).map_err(|name| {
                self.error(field, &format!("names the setting {name}, which does not exist"))
            })?;
            *value = if known.is_empty() { Value::Null } else { Value::String(known) };
        }
        Ok(fields)
    }

    pub(super) fn with<'b>(&self, fields: &'b Map<String, Value>) -> Node<'b>
    where
        'a: 'b,
    {
        Node { file: self.file, path: self.path.clone(), fields: Some(fields) }
    }

    pub(super) fn root(file: &'a str, json: &'a Value) -> Result<Self, ConfigError> {
        let Some(fields) = json.as_object() else {
            return Err(ConfigError::new(format!("{file}: the file must be an object")));
        };
        Ok(Self { file, path: String::new(), fields: Some(fields) })
    }

    pub(super) fn exists(&self) -> bool {
        self.fields.is_some()
    }

    pub(super) fn error(&self, field: &str, fault: &str) -> ConfigError {
        ConfigError::new(self.sentence(field, fault))
    }

    /// Formats `file: path.field fault`.
    pub(super) fn sentence(&self, field: &str, fault: &str) -> String {
        format!("{}: {} {fault}", self.file, self.place(field))
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
        self.fields.into_iter().flatten()
    }

    pub(super) fn string(&self, field: &str) -> Result<Option<&'a str>, ConfigError> {
        self.typed(field, "a string", Value::as_str)
    }

    /// Returns a string that must exist; `reason` is the effect of its absence.
    pub(super) fn required(&self, field: &str, reason: &str) -> Result<&'a str, ConfigError> {
        match self.string(field)? {
            Some(text) if !text.is_empty() => Ok(text),
            _ => Err(self.error(field, &format!("is missing: {reason}"))),
        }
    }

    /// Returns a boolean, which may be in quotes, as for the host.
    pub(super) fn boolean(&self, field: &str) -> Result<Option<bool>, ConfigError> {
        let quoted = |text: &str| text.trim().to_ascii_lowercase().parse().ok();
        let read = |value: &Value| value.as_bool().or_else(|| quoted(value.as_str()?));
        self.typed(field, "true or false", read)
    }

    pub(super) fn is_true(&self, field: &str) -> Result<bool, ConfigError> {
        Ok(self.boolean(field)?.unwrap_or(false))
    }

    /// Returns an integer, which may be in quotes, as for the host.
    pub(super) fn integer(&self, field: &str) -> Result<Option<i64>, ConfigError> {
        let quoted = |text: &str| text.trim().parse().ok();
        let read = |value: &Value| value.as_i64().or_else(|| quoted(value.as_str()?));
        self.typed(field, "an integer", read)
    }

    /// Returns an object below this one, by a path such as `extensions.http`.
    pub(super) fn object(&self, path: &str) -> Result<Node<'a>, ConfigError> {
        path.split('.').try_fold(self.clone(), |node, field| {
            let fields = node.typed(field, "an object", Value::as_object)?;
            Ok(Node { path: node.place(field), fields, ..node })
        })
    }

    pub(super) fn objects(&self, field: &str) -> Result<Vec<Node<'a>>, ConfigError> {
        let items = self.typed(field, "a list", Value::as_array)?.map_or(&[][..], Vec::as_slice);
        let node = |(index, item): (usize, &'a Value)| {
            let place = format!("{}[{index}]", self.place(field));
            match item.as_object() {
                Some(fields) => Ok(Node { file: self.file, path: place, fields: Some(fields) }),
                None => Err(ConfigError::new(format!("{}: {place} must be an object", self.file))),
            }
        };
        items.iter().enumerate().map(node).collect()
    }

    pub(super) fn strings(&self, field: &str) -> Result<Vec<&'a str>, ConfigError> {
        let items = self.typed(field, "a list", Value::as_array)?.map_or(&[][..], Vec::as_slice);
        let text =
            |item: &'a Value| item.as_str().ok_or_else(|| self.error(field, "must hold strings"));
        items.iter().map(text).collect()
    }

    fn typed<T>(
        &self,
        field: &str,
        wanted: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let value = self.fields.and_then(|fields| fields.get(field));
        let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.error(field, &format!("must be {wanted}")))
    }

    fn place(&self, field: &str) -> String {
        if self.path.is_empty() { field.to_owned() } else { format!("{}.{field}", self.path) }
    }
}

/// Returns `functions/HomeFeed/function.json`: the last folders are enough to find the file.
fn short_name(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let kept = match parts.as_slice() {
        [.., functions, _, file] if functions == "functions" && file == "function.json" => 3,
        [.., file] if file == "function.json" => 2,
        _ => 1,
    };
    parts[parts.len().saturating_sub(kept)..].join("/")
}

/// Reads `hh:mm:ss`, optionally with days before and a fraction after: `1.02:03:04.5`.
pub(super) fn parse_time_span(text: &str) -> Option<Duration> {
    let (hours, _) = text.split_once(':')?;
    let (days, time) = match hours.split_once('.') {
        Some((days, _)) => (days.parse::<u32>().ok()?, &text[days.len() + 1..]),
        None => (0, text),
    };
    let time = Time::parse(time, SECONDS).or_else(|_| Time::parse(time, FRACTION)).ok()?;
    Some(Duration::from_hours(24) * days + (time - Time::MIDNIGHT).unsigned_abs())
}

const SECONDS: &[BorrowedFormatItem<'_>] =
    format_description!("[hour padding:none]:[minute padding:none]:[second padding:none]");
const FRACTION: &[BorrowedFormatItem<'_>] = format_description!(
    "[hour padding:none]:[minute padding:none]:[second padding:none].[subsecond]"
);
