//! The parts of the candidates' keys, computed once for each item, and the properties that keys and requests
//! name, each found once.
//!
//! A candidate distinguishes keys by a hash of the hashes of their parts. It makes a whole key only where the
//! key is kept.

use std::hash::{Hash, Hasher};

use cosmos_model::partitioning::{
    KeyPart, KeyStrategy, KeyValue, key::NotScalar, moment::moment, path::PropertyPath,
    strategy::KeyError,
};
use serde_json::Value;
use time::OffsetDateTime;
use twox_hash::XxHash64;

use crate::sketch::hash;

/// The parts of all candidates, each once with the number of its property, and the properties.
#[derive(Debug, Default)]
pub(crate) struct KeyColumns {
    parts: Vec<(KeyPart, PartUse, usize)>,
    properties: Vec<KeyProperty>,
}

/// A property that keys or requests name.
#[derive(Debug)]
struct KeyProperty {
    path: PropertyPath,
    is_time: bool,
}

/// A property of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ItemField<'a> {
    pub(crate) value: Option<&'a Value>,
    /// The value as a moment, where it is used as a time.
    moment: Option<OffsetDateTime>,
}

/// The use of a part: `1` and `"1"` are two values alone, and one text in a joined level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartUse {
    Alone,
    Joined,
}

/// The columns of a candidate, by level. With a class, the parts of a key depend on the item: a key is made
/// for each item.
#[derive(Debug)]
pub(crate) enum CandidateColumns {
    /// With the columns that are no period.
    Levels(Vec<Vec<usize>>, Vec<usize>),
    ClassedLevels(KeyStrategy),
}

/// A part of the key of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyCell {
    hash: u64,
    length: usize,
    state: KeyState,
}

/// The state of a part, or of a key: the worst of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyState {
    Value,
    /// `null`, for which the service has a key: all such items are in one partition.
    Null,
    /// As [`KeyState::Null`].
    Undefined,
    NoKeyForNull,
    NoKeyForMissing,
    NotATime,
    NotScalar,
}

impl KeyColumns {
    /// Adds the columns of a candidate that are new, and returns all of its columns.
    pub(crate) fn add(&mut self, strategy: &KeyStrategy) -> CandidateColumns {
        if strategy.classes().is_some() {
            return CandidateColumns::ClassedLevels(strategy.clone());
        }
        let levels = strategy.levels().iter().map(|level| {
            let used = if level.len() == 1 { PartUse::Alone } else { PartUse::Joined };
            level.iter().map(|part| self.column(part, used)).collect()
        });
        let levels: Vec<Vec<usize>> = levels.collect();
        let is_entity = |column: &usize| !matches!(self.parts[*column].0, KeyPart::Period(..));
        let entity = levels.iter().flatten().copied().filter(is_entity).collect();
        CandidateColumns::Levels(levels, entity)
    }

    fn column(&mut self, part: &KeyPart, used: PartUse) -> usize {
        let known = self.parts.iter().position(|(one, so, _)| (one, *so) == (part, used));
        known.unwrap_or_else(|| {
            let property = match part {
                KeyPart::Period(path, _) => self.time(path),
                KeyPart::Value(path) | KeyPart::Bucket(path, _) => self.property(path),
            };
            self.parts.push((part.clone(), used, property));
            self.parts.len() - 1
        })
    }

    /// Returns the number of a property, and adds it where it is new.
    pub(crate) fn property(&mut self, path: &PropertyPath) -> usize {
        let known = self.properties.iter().position(|property| property.path == *path);
        known.unwrap_or_else(|| {
            self.properties.push(KeyProperty { path: path.clone(), is_time: false });
            self.properties.len() - 1
        })
    }

    /// Returns the number of a property that is used as a time, and adds it where it is new.
    pub(crate) fn time(&mut self, path: &PropertyPath) -> usize {
        let number = self.property(path);
        self.properties[number].is_time = true;
        number
    }

    /// Returns the properties of an item.
    pub(crate) fn fields<'a>(&self, item: &'a Value) -> Vec<ItemField<'a>> {
        let field = |property: &KeyProperty| {
            let value = property.path.find(item);
            let moment = || moment(&KeyValue::from_property(value).ok()?);
            ItemField { value, moment: property.is_time.then(moment).flatten() }
        };
        self.properties.iter().map(field).collect()
    }

    /// Returns the cells of an item with these properties.
    pub(crate) fn cells(&self, fields: &[ItemField<'_>]) -> Vec<KeyCell> {
        let cells = self.parts.iter().map(|(part, used, field)| cell(part, *used, &fields[*field]));
        cells.collect()
    }
}

impl ItemField<'_> {
    /// Returns the moment in seconds since 1970.
    pub(crate) fn seconds(&self) -> Option<i64> {
        self.moment.map(OffsetDateTime::unix_timestamp)
    }
}

fn cell(part: &KeyPart, used: PartUse, field: &ItemField<'_>) -> KeyCell {
    let state = |state| KeyCell { hash: 0, length: 0, state };
    match (part, field.value) {
        (_, Some(Value::Array(_) | Value::Object(_))) => state(KeyState::NotScalar),
        (KeyPart::Value(_), Some(Value::String(text))) => text_cell(text, used),
        (KeyPart::Value(_), value) => value_cell(&KeyValue::from_property(value), used),
        (_, None) => state(KeyState::NoKeyForMissing),
        (_, Some(Value::Null)) => state(KeyState::NoKeyForNull),
        (KeyPart::Period(_, granularity), Some(_)) => match field.moment {
            Some(moment) => text_cell(&granularity.period(moment).to_string(), used),
            None => state(KeyState::NotATime),
        },
        (KeyPart::Bucket(_, buckets), Some(Value::String(text))) => {
            text_cell(&buckets.bucket(text), used)
        }
        (KeyPart::Bucket(_, buckets), value) => {
            let text = KeyValue::from_property(value).ok().and_then(|value| value.text());
            text_cell(&buckets.bucket(&text.unwrap_or_default()), used)
        }
    }
}

fn value_cell(value: &Result<KeyValue, NotScalar>, used: PartUse) -> KeyCell {
    let state = |state| KeyCell { hash: 0, length: 0, state };
    match (used, value) {
        (_, Err(NotScalar)) => state(KeyState::NotScalar),
        (PartUse::Joined, Ok(KeyValue::Undefined)) => state(KeyState::NoKeyForMissing),
        (PartUse::Joined, Ok(KeyValue::Null)) => state(KeyState::NoKeyForNull),
        (PartUse::Joined, Ok(value)) => text_cell(&value.text().unwrap_or_default(), used),
        (PartUse::Alone, Ok(value)) => {
            let (length, state) = alone(value);
            KeyCell { hash: hash(value), length, state }
        }
    }
}

fn text_cell(text: &str, used: PartUse) -> KeyCell {
    let length = match used {
        PartUse::Alone => text.len(),
        // Two characters are written as two each, and a separator stands between parts.
        PartUse::Joined => {
            text.len() + text.bytes().filter(|byte| matches!(byte, b'_' | b'~')).count() + 1
        }
    };
    KeyCell { hash: hash(text), length, state: KeyState::Value }
}

/// Returns the length of a value that is a level alone, and its state.
fn alone(value: &KeyValue) -> (usize, KeyState) {
    match value {
        KeyValue::Undefined => (0, KeyState::Undefined),
        KeyValue::Null => (0, KeyState::Null),
        KeyValue::Text(text) => (text.len(), KeyState::Value),
        KeyValue::Bool(_) | KeyValue::Number(_) => (0, KeyState::Value),
    }
}

fn classed_key(strategy: &KeyStrategy, item: &Value) -> (u64, usize, KeyState) {
    match strategy.key(item) {
        Ok(key) => {
            let levels = key.values().iter().map(alone);
            let (length, state) = levels
                .fold((0, KeyState::Value), |(longest, worst), (length, state)| {
                    (longest.max(length), worst.max(state))
                });
            (hash(&key), length, state)
        }
        Err(error) => (0, 0, KeyState::from(error)),
    }
}

impl From<KeyError> for KeyState {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Missing(_) => Self::NoKeyForMissing,
            KeyError::Null(_) => Self::NoKeyForNull,
            KeyError::NotATime(_) => Self::NotATime,
            KeyError::NotScalar(_) => Self::NotScalar,
        }
    }
}

impl CandidateColumns {
    /// Returns the hash of the parts of the key that are no period; 0 with a class.
    pub(crate) fn entity(&self, cells: &[KeyCell]) -> u64 {
        let Self::Levels(_, columns) = self else { return 0 };
        let cells = columns.iter().filter_map(|column| cells.get(*column));
        hash(&cells.map(|cell| cell.hash).collect::<Vec<_>>())
    }

    /// Returns the hash of the key, the length of its longest level in bytes, and its state.
    pub(crate) fn key(&self, item: &Value, cells: &[KeyCell]) -> (u64, usize, KeyState) {
        let levels = match self {
            Self::Levels(levels, _) => levels,
            Self::ClassedLevels(strategy) => return classed_key(strategy, item),
        };
        let mut hasher = XxHash64::with_seed(0);
        let mut longest = 0;
        let mut worst = KeyState::Value;
        for level in levels {
            let mut length = 0;
            for cell in level.iter().filter_map(|column| cells.get(*column)) {
                cell.hash.hash(&mut hasher);
                length += cell.length;
                worst = worst.max(cell.state);
            }
            longest = longest.max(length);
        }
        (hasher.finish(), longest, worst)
    }
}
