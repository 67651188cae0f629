//! The functions of the language.
//!
//! Their source is <https://learn.microsoft.com/cosmos-db/query/functions>. An argument of the wrong type, or an
//! undefined one, makes the result undefined, but for the functions that ask for types. To add a function: a line in
//! [`FUNCTIONS`], and a test in `sql/tests`.

use time::OffsetDateTime;

use crate::{Refusal, json::Json};

use super::{
    compile::missing,
    eval::{Run, Value},
    refused,
};

mod types;

/// A function.
pub(super) struct Function {
    name: &'static str,
    /// The fewest arguments.
    pub(super) least: usize,
    /// The most arguments.
    pub(super) most: usize,
    pub(super) body: fn(&Args<'_>) -> Option<Json>,
}

/// The arguments of a call.
pub(super) struct Args<'a> {
    pub(super) values: &'a [Value<'a>],
    #[allow(dead_code)]
    pub(super) run: &'a Run,
}

#[allow(dead_code)]
impl Args<'_> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn get(&self, n: usize) -> Option<&Json> {
        self.values.get(n)?.as_deref()
    }

    fn text(&self, n: usize) -> Option<&str> {
        self.get(n)?.as_str()
    }

    fn number(&self, n: usize) -> Option<f64> {
        self.get(n)?.as_f64()
    }

    fn array(&self, n: usize) -> Option<&[Json]> {
        self.get(n)?.as_array()
    }

    fn whole(&self, n: usize) -> Option<i64> {
        whole(self.number(n)?)
    }

    /// Returns an argument that may be left out: then it is this one.
    fn flag(&self, n: usize, default: bool) -> Option<bool> {
        if n >= self.len() {
            return Some(default);
        }
        if let Json::Bool(flag) = self.get(n)? { Some(*flag) } else { None }
    }
}

#[allow(dead_code)]
const MANY: usize = usize::MAX;

macro_rules! functions {
    ($($name:literal $least:literal $most:tt $body:expr,)*) => {
        &[$(Function { name: $name, least: $least, most: $most, body: $body }),*]
    };
}

/// All functions: their names, the fewest and the most arguments, and what they do.
static FUNCTIONS: &[Function] = functions![
    "IS_ARRAY" 1 1 |a| types::is(a, |value| matches!(value, Json::Array(_))),
    "IS_BOOL" 1 1 |a| types::is(a, |value| matches!(value, Json::Bool(_))),
    "IS_DEFINED" 1 1 |a| types::is(a, |_| true),
    "IS_NULL" 1 1 |a| types::is(a, |value| *value == Json::Null),
    "IS_NUMBER" 1 1 |a| types::is(a, |value| matches!(value, Json::Number(_))),
    "IS_OBJECT" 1 1 |a| types::is(a, |value| matches!(value, Json::Object(_))),
    "IS_STRING" 1 1 |a| types::is(a, |value| matches!(value, Json::Text(_))),
];

/// Returns the function of a name, which is in capital letters.
pub(super) fn named(name: &str) -> Result<&'static Function, Refusal> {
    let found = FUNCTIONS.iter().find(|function| function.name == name);
    found.ok_or_else(|| {
        if name.starts_with("FULLTEXT") || name == "RRF" {
            return missing(&format!("The function {name}"));
        }
        refused("SC2005", &format!("'{name}' is not a recognized built-in function name."), None)
    })
}

/// Returns a number as a whole one, if it is one.
#[allow(clippy::cast_possible_truncation, reason = "within the bounds of i64")]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9.2e18).then_some(number as i64)
}

/// Returns a number as an index of an array or text.
pub(super) fn index(number: f64) -> Option<usize> {
    usize::try_from(whole(number)?).ok()
}

/// Returns the time in ticks of 100 nanoseconds since 1970.
pub(super) fn now() -> i64 {
    i64::try_from(OffsetDateTime::now_utc().unix_timestamp_nanos() / 100).unwrap_or_default()
}
