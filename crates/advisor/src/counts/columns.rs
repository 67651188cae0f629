//! The parts of the candidates' keys, each made once for an item however many candidates have it, and the
//! properties of which they and the requests are made, each found once.
//!
//! A candidate tells keys apart by a hash of the hashes of its parts, and makes a key itself only where
//! it is kept.

use std::hash::{Hash, Hasher};

use serde_json::Value;
use time::OffsetDateTime;
use tributary_partitioning::{
    KeyStrategy, KeyValue, Part, key::NotScalar, moment::moment, path::Path, strategy::KeyError,
};
use twox_hash::XxHash64;

use crate::sketch::hash;

/// All parts of all candidates, each once, with the number of its property; and the properties.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    parts: Vec<(Part, Use, usize)>,
    properties: Vec<Property>,
}

/// A property that keys or requests name.
#[derive(Debug)]
struct Property {
    path: Path,
    is_time: bool,
}

/// A property of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) value: Option<&'a Value>,
    /// The moment that it means, where it is used as a time.
    moment: Option<OffsetDateTime>,
}

/// How a part is used: `1` and `"1"` are two values alone, and one text in a joined level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Alone,
    Joined,
}

/// The columns of a candidate, by level. With a class, the parts of a key depend on the item: then a key
/// is made for each item.
#[derive(Debug)]
pub(crate) enum ColumnsOf {
    /// With the columns that are no period.
    Levels(Vec<Vec<usize>>, Vec<usize>),
    Classed(KeyStrategy),
}

/// A part of the key of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    hash: u64,
    length: usize,
    state: State,
}

/// What became of a part, or of a key: the worst of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Value,
    /// The service has a key for it: all such items are in one partition.
    Null,
    /// As [`State::Null`].
    Undefined,
    NoKeyForNull,
    NoKeyForMissing,
    NotATime,
    NotScalar,
}

impl Columns {
    /// Returns the columns of a candidate, and adds those that are new.
    pub(crate) fn of(&mut self, strategy: &KeyStrategy) -> ColumnsOf {
        if strategy.classes().is_some() {
            return ColumnsOf::Classed(strategy.clone());
        }
        let levels = strategy.levels().iter().map(|level| {
            let used = if level.len() == 1 { Use::Alone } else { Use::Joined };
            level.iter().map(|part| self.column(part, used)).collect()
        });
        let levels: Vec<Vec<usize>> = levels.collect();
        let is_entity = |column: &usize| !matches!(self.parts[*column].0, Part::Period(..));
        let entity = levels.iter().flatten().copied().filter(is_entity).collect();
        ColumnsOf::Levels(levels, entity)
    }

    fn column(&mut self, part: &Part, used: Use) -> usize {
        let known = self.parts.iter().position(|(one, so, _)| (one, *so) == (part, used));
        known.unwrap_or_else(|| {
            let property = match part {
                Part::Period(path, _) => self.time(path),
                Part::Value(path) | Part::Bucket(path, _) => self.property(path),
            };
            self.parts.push((part.clone(), used, property));
            self.parts.len() - 1
        })
    }

    /// Returns the number of a property, and adds it where it is new.
    pub(crate) fn property(&mut self, path: &Path) -> usize {
        let known = self.properties.iter().position(|property| property.path == *path);
        known.unwrap_or_else(|| {
            self.properties.push(Property { path: path.clone(), is_time: false });
            self.properties.len() - 1
        })
    }

    /// Returns the number of a property that is used as a time, and adds it where it is new.
    pub(crate) fn time(&mut self, path: &Path) -> usize {
        let number = self.property(path);
        self.properties[number].is_time = true;
        number
    }

    /// Returns the properties of an item.
    pub(crate) fn fields<'a>(&self, item: &'a Value) -> Vec<Field<'a>> {
        let field = |property: &Property| {
            let value = property.path.find(item);
            let moment = || moment(&KeyValue::of(value).ok()?);
            Field { value, moment: property.is_time.then(moment).flatten() }
        };
        self.properties.iter().map(field).collect()
    }

    /// Returns the cells of an item with these properties.
    pub(crate) fn cells(&self, fields: &[Field<'_>]) -> Vec<Cell> {
        let cells = self.parts.iter().map(|(part, used, field)| cell(part, *used, &fields[*field]));
        cells.collect()
    }
}

impl Field<'_> {
    /// Returns the moment in seconds since 1970.
    pub(crate) fn seconds(&self) -> Option<i64> {
        self.moment.map(OffsetDateTime::unix_timestamp)
    }
}

fn cell(part: &Part, used: Use, field: &Field<'_>) -> Cell {
    let state = |state| Cell { hash: 0, length: 0, state };
    match (part, field.value) {
        (_, Some(Value::Array(_) | Value::Object(_))) => state(State::NotScalar),
        (Part::Value(_), Some(Value::String(text))) => text_cell(text, used),
        (Part::Value(_), value) => value_cell(&KeyValue::of(value), used),
        (_, None) => state(State::NoKeyForMissing),
        (_, Some(Value::Null)) => state(State::NoKeyForNull),
        (Part::Period(_, granularity), Some(_)) => match field.moment {
            Some(moment) => text_cell(&granularity.period(moment).to_string(), used),
            None => state(State::NotATime),
        },
        (Part::Bucket(_, buckets), Some(Value::String(text))) => {
            text_cell(&buckets.bucket(text), used)
        }
        (Part::Bucket(_, buckets), value) => {
            let text = KeyValue::of(value).ok().and_then(|value| value.text());
            text_cell(&buckets.bucket(&text.unwrap_or_default()), used)
        }
    }
}

fn value_cell(value: &Result<KeyValue, NotScalar>, used: Use) -> Cell {
    let state = |state| Cell { hash: 0, length: 0, state };
    match (used, value) {
        (_, Err(NotScalar)) => state(State::NotScalar),
        (Use::Joined, Ok(KeyValue::Undefined)) => state(State::NoKeyForMissing),
        (Use::Joined, Ok(KeyValue::Null)) => state(State::NoKeyForNull),
        (Use::Joined, Ok(value)) => text_cell(&value.text().unwrap_or_default(), used),
        (Use::Alone, Ok(value)) => {
            let (length, state) = alone(value);
            Cell { hash: hash(value), length, state }
        }
    }
}

fn text_cell(text: &str, used: Use) -> Cell {
    let length = match used {
        Use::Alone => text.len(),
        // Two characters are written as two each, and a separator stands between parts.
        Use::Joined => {
            text.len() + text.bytes().filter(|byte| matches!(byte, b'_' | b'~')).count() + 1
        }
    };
    Cell { hash: hash(text), length, state: State::Value }
}

/// Returns the length of a value that is a level by itself, and its state.
fn alone(value: &KeyValue) -> (usize, State) {
    match value {
        KeyValue::Undefined => (0, State::Undefined),
        KeyValue::Null => (0, State::Null),
        KeyValue::Text(text) => (text.len(), State::Value),
        KeyValue::Bool(_) | KeyValue::Number(_) => (0, State::Value),
    }
}

fn classed_key(strategy: &KeyStrategy, item: &Value) -> (u64, usize, State) {
    match strategy.key(item) {
        Ok(key) => {
            let levels = key.values().iter().map(alone);
            let (length, state) = levels
                .fold((0, State::Value), |(longest, worst), (length, state)| {
                    (longest.max(length), worst.max(state))
                });
            (hash(&key), length, state)
        }
        Err(error) => (0, 0, State::from(error)),
    }
}

impl From<KeyError> for State {
    fn from(error: KeyError) -> Self {
        match error {
            KeyError::Missing(_) => Self::NoKeyForMissing,
            KeyError::Null(_) => Self::NoKeyForNull,
            KeyError::NotATime(_) => Self::NotATime,
            KeyError::NotScalar(_) => Self::NotScalar,
        }
    }
}

impl ColumnsOf {
    /// Returns the hash of the parts of the key that are no period. With a class there are none.
    pub(crate) fn entity(&self, cells: &[Cell]) -> u64 {
        let Self::Levels(_, columns) = self else { return 0 };
        let cells = columns.iter().filter_map(|column| cells.get(*column));
        hash(&cells.map(|cell| cell.hash).collect::<Vec<_>>())
    }

    /// Returns the hash of the key, the length of its longest level in bytes, and its state.
    pub(crate) fn key(&self, item: &Value, cells: &[Cell]) -> (u64, usize, State) {
        let levels = match self {
            Self::Levels(levels, _) => levels,
            Self::Classed(strategy) => return classed_key(strategy, item),
        };
        let mut hasher = XxHash64::with_seed(0);
        let (mut longest, mut worst) = (0, State::Value);
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
