//! The functions of the language.
//!
//! Their source is <https://learn.microsoft.com/cosmos-db/query/functions>. An argument of the wrong type, or an
//! undefined one, makes the result undefined, but for the functions that ask for types. To add a function: a line in
//! [`FUNCTIONS`], and a test in `sql/tests`.

use crate::{Result, json::Json};

use super::{
    eval::{Run, Value},
    refused,
};

mod arrays;
mod full_text;
mod numbers;
mod space;
mod text;
mod time;
mod types;

pub(super) struct Function {
    pub(super) name: &'static str,
    /// The fewest arguments.
    pub(super) least: usize,
    /// The most arguments.
    pub(super) most: usize,
    pub(super) body: fn(&Args<'_>) -> Option<Json>,
}

/// The arguments of a call.
pub(super) struct Args<'a> {
    pub(super) values: &'a [Value<'a>],
    pub(super) run: &'a Run,
}

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

const MANY: usize = usize::MAX;

macro_rules! functions {
    ($($name:literal $least:literal $most:tt $body:expr,)*) => {
        &[$(Function { name: $name, least: $least, most: $most, body: $body }),*]
    };
}

/// All functions: their names, the fewest and the most arguments, and what they do.
pub(super) static FUNCTIONS: &[Function] = functions![
    "ABS" 1 1 |a| numbers::of(a, f64::abs),
    "ACOS" 1 1 |a| numbers::of(a, f64::acos),
    "AGO" 2 2 |a| time::now(a, -1),
    "ARRAY_AVG" 1 1 arrays::average,
    "ARRAY_CONCAT" 2 MANY arrays::concat,
    "ARRAY_CONTAINS" 2 3 arrays::contains,
    "ARRAY_CONTAINS_ALL" 2 MANY |a| arrays::contains_several(a, false),
    "ARRAY_CONTAINS_ANY" 2 MANY |a| arrays::contains_several(a, true),
    "ARRAY_LENGTH" 1 1 arrays::length,
    "ARRAY_MAX" 1 1 |a| arrays::extreme(a, true),
    "ARRAY_MEDIAN" 1 1 arrays::median,
    "ARRAY_MIN" 1 1 |a| arrays::extreme(a, false),
    "ARRAY_SLICE" 2 3 arrays::slice,
    "ARRAY_SUM" 1 1 arrays::sum,
    "ASIN" 1 1 |a| numbers::of(a, f64::asin),
    "ATAN" 1 1 |a| numbers::of(a, f64::atan),
    "ATN2" 2 2 |a| numbers::of_two(a, f64::atan2),
    "CEILING" 1 1 |a| numbers::of(a, f64::ceil),
    "CHOOSE" 2 MANY types::choose,
    "CONCAT" 2 MANY text::concat,
    "CONTAINS" 2 3 |a| text::compare(a, |text, part| text.contains(part)),
    "CONTAINS_ALL_CI" 2 MANY |a| text::contains(a, false, true),
    "CONTAINS_ALL_CS" 2 MANY |a| text::contains(a, false, false),
    "CONTAINS_ANY_CI" 2 MANY |a| text::contains(a, true, true),
    "CONTAINS_ANY_CS" 2 MANY |a| text::contains(a, true, false),
    "COS" 1 1 |a| numbers::of(a, f64::cos),
    "COT" 1 1 |a| numbers::of(a, |number| 1.0 / number.tan()),
    "DATETIMEADD" 3 3 time::add,
    "DATETIMEBIN" 2 4 time::bin,
    "DATETIMEDIFF" 3 3 time::diff,
    "DATETIMEFORMAT" 2 2 time::format,
    "DATETIMEFROMPARTS" 3 7 time::from,
    "DATETIMEPART" 2 2 time::part_of,
    "DATETIMETOTICKS" 1 1 |a| time::to_ticks(a, 1),
    "DATETIMETOTIMESTAMP" 1 1 |a| time::to_ticks(a, 10_000),
    "DEGREES" 1 1 |a| numbers::of(a, f64::to_degrees),
    "DOCUMENTID" 1 1 types::document_id,
    "ENDSWITH" 2 3 |a| text::compare(a, |text, end| text.ends_with(end)),
    "EXP" 1 1 |a| numbers::of(a, f64::exp),
    "FLOOR" 1 1 |a| numbers::of(a, f64::floor),
    "FULLTEXTCONTAINS" 2 2 |a| full_text::contains(a, true),
    "FULLTEXTCONTAINSALL" 2 MANY |a| full_text::contains(a, false),
    "FULLTEXTCONTAINSANY" 2 MANY |a| full_text::contains(a, true),
    "GETCURRENTDATETIME" 0 0 |_| time::current(now(), ""),
    "GETCURRENTDATETIMESTATIC" 0 0 |a| time::current(a.run.began, ""),
    "GETCURRENTTICKS" 0 0 |_| time::current(now(), "ticks"),
    "GETCURRENTTICKSSTATIC" 0 0 |a| time::current(a.run.began, "ticks"),
    "GETCURRENTTIMESTAMP" 0 0 |_| time::current(now(), "milliseconds"),
    "GETCURRENTTIMESTAMPSTATIC" 0 0 |a| time::current(a.run.began, "milliseconds"),
    "IIF" 3 3 types::iif,
    "INDEX_OF" 2 3 |a| text::index_of(a, false),
    "INTADD" 2 2 |a| numbers::of_whole(a, |one, other| Some(one.wrapping_add(other))),
    "INTBITAND" 2 2 |a| numbers::of_whole(a, |one, other| Some(one & other)),
    "INTBITLEFTSHIFT" 2 2 |a| numbers::of_whole(a, |one, by| one.checked_shl(by.try_into().ok()?)),
    "INTBITNOT" 1 1 |a| numbers::of_whole(a, |one, _| Some(!one)),
    "INTBITOR" 2 2 |a| numbers::of_whole(a, |one, other| Some(one | other)),
    "INTBITRIGHTSHIFT" 2 2 |a| numbers::of_whole(a, |one, by| one.checked_shr(by.try_into().ok()?)),
    "INTBITXOR" 2 2 |a| numbers::of_whole(a, |one, other| Some(one ^ other)),
    "INTDIV" 2 2 |a| numbers::of_whole(a, i64::checked_div),
    "INTMOD" 2 2 |a| numbers::of_whole(a, i64::checked_rem),
    "INTMUL" 2 2 |a| numbers::of_whole(a, |one, other| Some(one.wrapping_mul(other))),
    "INTSUB" 2 2 |a| numbers::of_whole(a, |one, other| Some(one.wrapping_sub(other))),
    "IS_ARRAY" 1 1 |a| types::is(a, |value| matches!(value, Json::Array(_))),
    "IS_BOOL" 1 1 |a| types::is(a, |value| matches!(value, Json::Bool(_))),
    "IS_DEFINED" 1 1 |a| types::is(a, |_| true),
    "IS_FINITE_NUMBER" 1 1 |a| types::is(a, |value| matches!(value, Json::Number(_))),
    "IS_INTEGER" 1 1 |a| types::is(a, |value| value.as_f64().and_then(whole).is_some()),
    "IS_NULL" 1 1 |a| types::is(a, |value| *value == Json::Null),
    "IS_NUMBER" 1 1 |a| types::is(a, |value| matches!(value, Json::Number(_))),
    "IS_OBJECT" 1 1 |a| types::is(a, |value| matches!(value, Json::Object(_))),
    "IS_PRIMITIVE" 1 1 |a| types::is(a, |value| !matches!(value, Json::Array(_) | Json::Object(_))),
    "IS_STRING" 1 1 |a| types::is(a, |value| matches!(value, Json::Text(_))),
    "LASTINDEXOF" 2 2 |a| text::index_of(a, true),
    "LEFT" 2 2 text::left,
    "LENGTH" 1 1 text::length,
    "LOG" 1 2 numbers::log,
    "LOG10" 1 1 |a| numbers::of(a, f64::log10),
    "LOWER" 1 1 |a| text::of(a, str::to_lowercase),
    "LTRIM" 1 2 |a| text::trim(a, true, false),
    "NOW" 0 2 |a| time::now(a, 1),
    "NUMBERBIN" 1 2 numbers::bin,
    "OBJECTTOARRAY" 1 3 arrays::object_to_array,
    "PI" 0 0 |_| Some(Json::Number(std::f64::consts::PI)),
    "POWER" 2 2 |a| numbers::of_two(a, f64::powf),
    "RADIANS" 1 1 |a| numbers::of(a, f64::to_radians),
    "RAND" 0 0 numbers::random,
    "REGEXMATCH" 2 3 text::regex_match,
    "REPLACE" 3 3 text::replace,
    "REPLICATE" 2 2 text::replicate,
    "REVERSE" 1 1 |a| text::of(a, |text| text.chars().rev().collect::<String>()),
    "RIGHT" 2 2 text::right,
    "ROUND" 1 2 numbers::round,
    "RTRIM" 1 2 |a| text::trim(a, false, true),
    "SETDIFFERENCE" 2 2 |a| arrays::set(a, false, |is_in_second| !is_in_second),
    "SETEQUAL" 2 2 arrays::set_equal,
    "SETINTERSECT" 2 2 |a| arrays::set(a, false, |is_in_second| is_in_second),
    "SETUNION" 2 2 |a| arrays::set(a, true, |_| true),
    "SIGN" 1 1 |a| numbers::of(a, numbers::sign),
    "SIN" 1 1 |a| numbers::of(a, f64::sin),
    "SQRT" 1 1 |a| numbers::of(a, f64::sqrt),
    "SQUARE" 1 1 |a| numbers::of(a, |number| number * number),
    "STARTSWITH" 2 3 |a| text::compare(a, |text, begin| text.starts_with(begin)),
    "STRINGEQUALS" 2 3 |a| text::compare(a, |one, other| one == other),
    "STRINGJOIN" 2 2 text::join,
    "STRINGSPLIT" 2 2 text::split,
    "STRINGTOARRAY" 1 1 |a| text::read(a, |value| matches!(value, Json::Array(_))),
    "STRINGTOBOOLEAN" 1 1 |a| text::read(a, |value| matches!(value, Json::Bool(_))),
    "STRINGTONULL" 1 1 |a| text::read(a, |value| *value == Json::Null),
    "STRINGTONUMBER" 1 1 |a| text::read(a, |value| matches!(value, Json::Number(_))),
    "STRINGTOOBJECT" 1 1 |a| text::read(a, |value| matches!(value, Json::Object(_))),
    "ST_AREA" 1 1 space::area,
    "ST_DISTANCE" 2 2 space::distance,
    "ST_INTERSECTS" 2 2 space::intersects,
    "ST_ISVALID" 1 1 space::is_valid,
    "ST_ISVALIDDETAILED" 1 1 space::is_valid_detailed,
    "ST_WITHIN" 2 2 space::within,
    "SUBSTRING" 3 3 text::substring,
    "TAN" 1 1 |a| numbers::of(a, f64::tan),
    "TICKSTODATETIME" 1 1 |a| time::of_ticks(a, 1),
    "TIMESTAMPTODATETIME" 1 1 |a| time::of_ticks(a, 10_000),
    "TOSTRING" 1 1 text::to_string,
    "TRIM" 1 2 |a| text::trim(a, true, true),
    "TRUNC" 1 1 |a| numbers::of(a, f64::trunc),
    "TYPE" 1 1 types::type_of,
    "UPPER" 1 1 |a| text::of(a, str::to_uppercase),
    "VECTORDISTANCE" 2 4 numbers::vector_distance,
    "_FULLTEXTSCORE" 2 5 full_text::score,
    "_FULLTEXTWORDCOUNT" 1 1 full_text::word_count,
    "_VECTORSCORE" 2 4 numbers::vector_score,
];

/// Returns what several answers make together: that one of them is decisive, or none.
fn any(answers: impl Iterator<Item = Option<bool>>, decisive: bool) -> Option<Json> {
    let mut result = Some(!decisive);
    for answer in answers {
        match answer {
            Some(answer) if answer == decisive => return Some(Json::Bool(decisive)),
            Some(_) => (),
            None => result = None,
        }
    }
    result.map(Json::Bool)
}

/// Returns the function of a name, which is in capital letters and stands at this location.
pub(super) fn named(
    name: &str,
    locate: impl FnOnce() -> Option<(usize, usize)>,
) -> Result<&'static Function> {
    let found = FUNCTIONS.iter().find(|function| function.name == name);
    found.ok_or_else(|| {
        if matches!(name, "FULLTEXTSCORE" | "RRF") {
            let message = format!("The function {name} is only allowed in ORDER BY RANK.");
            return refused("", &message, locate());
        }
        let message = format!("'{name}' is not a recognized built-in function name.");
        refused("SC2005", &message, locate())
    })
}

#[allow(clippy::cast_possible_truncation, reason = "within the bounds of i64")]
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < 9.2e18).then_some(number as i64)
}

#[allow(clippy::cast_precision_loss, reason = "the numbers of the service are doubles")]
fn number(number: i64) -> Json {
    Json::Number(number as f64)
}

fn count(count: usize) -> Json {
    number(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Returns a number as an index of an array or text.
pub(super) fn index(number: f64) -> Option<usize> {
    usize::try_from(whole(number)?).ok()
}

/// Returns the time in ticks of 100 nanoseconds since 1970.
pub(super) fn now() -> i64 {
    i64::try_from(::time::OffsetDateTime::now_utc().unix_timestamp_nanos() / 100)
        .unwrap_or_default()
}
