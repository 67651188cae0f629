//! The parts of the candidates' keys, each made once for an item however many candidates have it.
//!
//! A candidate tells keys apart by a hash of the hashes of its parts, and makes a key itself only where
//! it is kept.

use std::hash::{Hash, Hasher};

use serde_json::Value;
use tributary_partitioning::{KeyStrategy, KeyValue, Part, strategy::KeyError};
use twox_hash::XxHash64;

use crate::sketch::hash;

/// All parts of all candidates, each once.
#[derive(Debug, Default)]
pub(crate) struct Columns(Vec<(Part, Use)>);

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
        let column = |part: &Part, used| {
            let column = (part.clone(), used);
            self.0.iter().position(|known| *known == column).unwrap_or_else(|| {
                self.0.push(column);
                self.0.len() - 1
            })
        };
        let mut column = column;
        let levels = strategy.levels().iter().map(|level| {
            let used = if level.len() == 1 { Use::Alone } else { Use::Joined };
            level.iter().map(|part| column(part, used)).collect()
        });
        let levels: Vec<Vec<usize>> = levels.collect();
        let is_entity = |column: &usize| !matches!(self.0[*column].0, Part::Period(..));
        let entity = levels.iter().flatten().copied().filter(is_entity).collect();
        ColumnsOf::Levels(levels, entity)
    }

    /// Returns the cells of an item.
    pub(crate) fn cells(&self, item: &Value) -> Vec<Cell> {
        self.0.iter().map(|(part, used)| cell(part, *used, item)).collect()
    }
}

fn cell(part: &Part, used: Use, item: &Value) -> Cell {
    let state = |state| Cell { hash: 0, length: 0, state };
    if let Part::Value(path) = part
        && let Some(Value::String(text)) = path.find(item)
    {
        return text_cell(text, used);
    }
    let value = match part.value(item) {
        Ok(value) => value,
        Err(error) => return state(State::from(error)),
    };
    match (used, &value) {
        (Use::Joined, KeyValue::Undefined) => state(State::NoKeyForMissing),
        (Use::Joined, KeyValue::Null) => state(State::NoKeyForNull),
        (Use::Alone, KeyValue::Text(text)) => text_cell(text, used),
        (Use::Joined, value) => text_cell(&value.text().unwrap_or_default(), used),
        (Use::Alone, value) => {
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
