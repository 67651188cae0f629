//! Functions of arrays, sets and objects.

use std::collections::BTreeSet;

use crate::json::Json;

use super::{Args, count};

pub(super) fn length(args: &Args<'_>) -> Option<Json> {
    Some(count(args.array(0)?.len()))
}

pub(super) fn concat(args: &Args<'_>) -> Option<Json> {
    let arrays: Option<Vec<&[Json]>> = (0..args.len()).map(|n| args.array(n)).collect();
    Some(Json::Array(arrays?.concat()))
}

/// `ARRAY_CONTAINS`: a partial match needs the properties of the wanted object, each with an equal value.
pub(super) fn contains(args: &Args<'_>) -> Option<Json> {
    let is_partial = args.flag(2, false)?;
    let wanted = args.get(1)?;
    let is_wanted = |value: &Json| match wanted {
        Json::Object(wanted) if is_partial => {
            wanted.iter().all(|(name, wanted)| value.get(name) == Some(wanted))
        }
        wanted => value == wanted,
    };
    Some(Json::Bool(args.array(0)?.iter().any(is_wanted)))
}

/// `ARRAY_CONTAINS_ANY` and `…_ALL`: one answer decides, an undefined one makes the rest undefined.
pub(super) fn contains_several(args: &Args<'_>, decisive: bool) -> Option<Json> {
    let array = args.array(0)?;
    args.run.spend(array.len().saturating_mul(args.len()))?;
    let answers = (1..args.len()).map(|n| Some(array.contains(args.get(n)?)));
    super::any(answers, decisive)
}

/// `ARRAY_SLICE`: a negative start counts from the end.
pub(super) fn slice(args: &Args<'_>) -> Option<Json> {
    let (array, start) = (args.array(0)?, args.whole(1)?);
    let most = if args.len() > 2 { args.whole(2)?.max(0) } else { i64::MAX };
    let length = i64::try_from(array.len()).ok()?;
    let start = if start < 0 { length.saturating_add(start).max(0) } else { start };
    let (start, most) = (usize::try_from(start).ok()?, usize::try_from(most).ok()?);
    Some(Json::Array(array.iter().skip(start).take(most).cloned().collect()))
}

/// Returns the numbers of an array that has nothing else, if it has any.
fn numbers(args: &Args<'_>) -> Option<Vec<f64>> {
    let numbers: Option<Vec<f64>> = args.array(0)?.iter().map(Json::as_f64).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

pub(super) fn sum(args: &Args<'_>) -> Option<Json> {
    Some(Json::Number(numbers(args)?.iter().sum()))
}

pub(super) fn average(args: &Args<'_>) -> Option<Json> {
    let numbers = numbers(args)?;
    Some(Json::Number(numbers.iter().sum::<f64>() / count(numbers.len()).as_f64()?))
}

pub(super) fn median(args: &Args<'_>) -> Option<Json> {
    let mut numbers = numbers(args)?;
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.get(numbers.len() / 2)?;
    let before = numbers.get((numbers.len() - 1) / 2)?;
    Some(Json::Number(before.midpoint(*middle)))
}

/// Returns the greatest or the least element: numbers, texts, booleans or null.
pub(super) fn extreme(args: &Args<'_>, greatest: bool) -> Option<Json> {
    let array = args.array(0)?;
    if array.iter().any(|value| matches!(value, Json::Array(_) | Json::Object(_))) {
        return None;
    }
    if greatest { array.iter().max().cloned() } else { array.iter().min().cloned() }
}

/// Returns the different values of the first array, or of both, that pass a test for being in the second one.
pub(super) fn set(args: &Args<'_>, with_second: bool, passes: fn(bool) -> bool) -> Option<Json> {
    let (one, other) = (args.array(0)?, args.array(1)?);
    let members: BTreeSet<&Json> = other.iter().collect();
    let mut seen = BTreeSet::new();
    let more = if with_second { other } else { &[] };
    let result = one.iter().filter(|value| passes(members.contains(value))).chain(more);
    Some(Json::Array(result.filter(|value| seen.insert(*value)).cloned().collect()))
}

pub(super) fn set_equal(args: &Args<'_>) -> Option<Json> {
    let set = |n| Some(args.array(n)?.iter().collect::<BTreeSet<_>>());
    Some(Json::Bool(set(0)? == set(1)?))
}

/// `OBJECTTOARRAY`: an object for each property, with its name as `k` and its value as `v`.
pub(super) fn object_to_array(args: &Args<'_>) -> Option<Json> {
    let Json::Object(properties) = args.get(0)? else { return None };
    let name = |n, default| if args.len() > n { args.text(n) } else { Some(default) };
    let (key, value) = (name(1, "k")?, name(2, "v")?);
    args.run.hold(properties.len().saturating_mul(key.len() + value.len()))?;
    let pair = |(name, of): &(Box<str>, Json)| {
        Json::Object(vec![(key.into(), Json::Text(name.clone())), (value.into(), of.clone())])
    };
    Some(Json::Array(properties.iter().map(pair).collect()))
}
