//! Classes: some values have keys of another granularity than the others.
//!
//! The guide gives frequent devices a partition a day and the others one a month. A device becomes
//! frequent at some time, and its older items keep their keys. So a class has members, each since a
//! day or since ever, and the time of an item decides:
//!
//! 1. The key of an item depends on the item alone: on the value that tells the class and on the time in
//!    the key. To add a member, since a day to come, changes the key of no stored item.
//! 2. A filter is cut into parts within which the class is the same for all items: by member and, where
//!    a member has a day, at that day. Each part is visited with the granularity of its class. The
//!    parts cover the filter, so each matching item has a key that is visited.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use time::{Date, OffsetDateTime};

use super::{KeyStrategy, Part, StrategyError, Visit, visit};
use crate::{
    filter::{Condition, Filter, Range},
    key::KeyValue,
    moment::{self, moment},
    path::Path,
    period::Granularity,
};

/// Members of a class, whose periods have another granularity than those of all others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Classes {
    by: Path,
    granularity: Granularity,
    members: BTreeMap<String, Since>,
}

/// From when on a value is a member of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Since {
    /// All its items are of the class.
    Ever,
    /// Its items from the start of this day of UTC on are of the class.
    Day(Date),
}

/// A strategy's levels, with the class's granularity, and the class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Classed {
    classes: Classes,
    /// The path of the only period of the key.
    time: Path,
    levels: Vec<Vec<Part>>,
}

impl Classes {
    /// Returns the class of the items that have one of these values at `by`.
    pub fn new(
        by: Path,
        granularity: Granularity,
        members: impl IntoIterator<Item = (String, Since)>,
    ) -> Self {
        Self { by, granularity, members: members.into_iter().collect() }
    }

    fn member(&self, value: &KeyValue) -> Option<Since> {
        self.members.get(&value.text()?).copied()
    }
}

impl KeyStrategy {
    /// Returns this strategy with a class. The key must have exactly one period.
    pub fn with_classes(mut self, classes: Classes) -> Result<Self, StrategyError> {
        let mut levels = self.levels.clone();
        let mut time = None;
        for part in levels.iter_mut().flatten() {
            if let Part::Period(path, granularity) = part {
                if time.is_some() {
                    return Err(StrategyError::Classes);
                }
                time = Some(path.clone());
                *granularity = classes.granularity;
            }
        }
        let time = time.ok_or(StrategyError::Classes)?;
        self.classed = Some(Box::new(Classed { classes, time, levels }));
        Ok(self)
    }

    /// Returns the class, when there is one.
    pub fn classes(&self) -> Option<&Classes> {
        self.classed.as_ref().map(|classed| &classed.classes)
    }
}

impl Classed {
    /// Returns the levels of an item of the class, or `None` for another item.
    pub(super) fn levels(&self, item: &serde_json::Value) -> Option<&[Vec<Part>]> {
        let value = |path: &Path| KeyValue::of(path.find(item)).ok();
        let since = self.classes.member(&value(&self.classes.by)?)?;
        let is_since = match since {
            Since::Ever => true,
            Since::Day(since) => moment(&value(&self.time)?)? >= start(since),
        };
        is_since.then_some(self.levels.as_slice())
    }

    pub(super) fn visit(&self, others: &[Vec<Part>], filter: &Filter) -> Visit {
        let visits = self.cut(filter).into_iter().map(|(is_class, filter)| {
            visit::visit(if is_class { &self.levels } else { others }, &filter)
        });
        visits.reduce(Visit::or).unwrap_or(Visit::Partitions(Vec::new()))
    }

    /// Returns the parts of a filter, and whether the items of each are of the class.
    fn cut(&self, filter: &Filter) -> Vec<(bool, Filter)> {
        let members = &self.classes.members;
        let values = match filter.condition(&self.classes.by) {
            Some(Condition::Equals(value)) => std::slice::from_ref(value),
            Some(Condition::OneOf(values)) => values,
            Some(Condition::Range(_)) | None => {
                // Any item may match. Those of the class are not older than its first member.
                let first = members.values().min();
                let of_class = first.and_then(|first| self.part(filter, Side::Since, *first));
                let mut parts = vec![(false, filter.clone())];
                parts.extend(of_class.map(|part| (true, part)));
                return parts;
            }
        };
        let among = |since: Option<Since>| -> Filter {
            let these = values.iter().filter(|value| self.classes.member(value) == since);
            filter.with(&self.classes.by, Condition::OneOf(these.cloned().collect()))
        };
        let days: BTreeSet<_> = values.iter().map(|value| self.classes.member(value)).collect();
        let mut parts = Vec::new();
        for day in days {
            let these = among(day);
            match day {
                None => parts.push((false, these)),
                Some(since) => {
                    let before = self.part(&these, Side::Before, since);
                    parts.extend(before.map(|part| (false, part)));
                    parts.extend(self.part(&these, Side::Since, since).map(|part| (true, part)));
                }
            }
        }
        parts
    }

    /// Returns the part of a filter on one side of a day, or `None` where nothing is on that side.
    fn part(&self, filter: &Filter, side: Side, since: Since) -> Option<Filter> {
        let Since::Day(day) = since else {
            return (side == Side::Since).then(|| filter.clone());
        };
        let Some(condition) = filter.condition(&self.time) else { return Some(filter.clone()) };
        let day = start(day);
        let is_here = |value: &KeyValue| {
            // What is no time has no period. It leaves the key open, whatever the side.
            moment(value).is_none_or(|at| (at >= day) == (side == Side::Since))
        };
        let condition = match condition {
            Condition::Equals(value) if is_here(value) => condition.clone(),
            Condition::Equals(_) => return None,
            Condition::OneOf(values) => {
                Condition::OneOf(values.iter().filter(|value| is_here(value)).cloned().collect())
            }
            Condition::Range(Range { from, to }) => {
                let bound =
                    |bound: &Option<KeyValue>,
                     is_kept: fn(OffsetDateTime, OffsetDateTime) -> bool| {
                        match bound.as_ref().map(|bound| (bound, moment(bound))) {
                            Some((bound, None)) => Some(bound.clone()),
                            Some((bound, Some(at))) if is_kept(at, day) => Some(bound.clone()),
                            _ => Some(moment::value(day)),
                        }
                    };
                Condition::Range(match side {
                    Side::Before => Range { from: from.clone(), to: bound(to, |to, day| to < day) },
                    Side::Since => {
                        Range { from: bound(from, |from, day| from > day), to: to.clone() }
                    }
                })
            }
        };
        Some(filter.with(&self.time, condition))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Since,
}

fn start(day: Date) -> OffsetDateTime {
    day.midnight().assume_utc()
}

impl fmt::Display for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} where {} is", self.granularity, self.by)?;
        for (n, (member, since)) in self.members.iter().enumerate() {
            f.write_str(if n > 0 { " or " } else { " " })?;
            if is_word(member) {
                f.write_str(member)?;
            } else {
                write!(f, "{}", serde_json::Value::from(member.as_str()))?;
            }
            if let Since::Day(since) = since {
                write!(f, " since {since}")?;
            }
        }
        Ok(())
    }
}

/// Returns true if a member can be written without quotation marks.
fn is_word(member: &str) -> bool {
    !member.is_empty()
        && !member.starts_with('"')
        && !member.contains(char::is_whitespace)
        && !["or", "since"].contains(&member)
}

/// Reads what [`Classes`] writes.
pub(super) fn read(text: &str) -> Result<Classes, StrategyError> {
    let error = || StrategyError::Words(text.trim().to_owned());
    let word = |rest: &mut &str| -> Option<String> {
        let text = rest.trim_start();
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        *rest = &text[end..];
        (end > 0).then(|| text[..end].to_owned())
    };
    let member = |rest: &mut &str| -> Option<String> {
        let text = rest.trim_start();
        if !text.starts_with('"') {
            return word(rest);
        }
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let value = values.next()?.ok()?;
        *rest = &text[values.byte_offset()..];
        Some(value)
    };
    let expect = |rest: &mut &str, expected: &str| word(rest).filter(|word| word == expected);
    let mut rest = text;
    let granularity = expect(&mut rest, "by").and_then(|_| word(&mut rest)?.parse().ok());
    let granularity = granularity.ok_or_else(error)?;
    expect(&mut rest, "where").ok_or_else(error)?;
    let (by, mut rest) = Path::read(rest.trim_start())?;
    expect(&mut rest, "is").ok_or_else(error)?;
    let mut members = BTreeMap::new();
    loop {
        let name = member(&mut rest).ok_or_else(error)?;
        let mut next = word(&mut rest);
        let mut since = Since::Ever;
        if next.as_deref() == Some("since") {
            let format = time::macros::format_description!("[year]-[month]-[day]");
            let day = word(&mut rest).and_then(|day| Date::parse(&day, format).ok());
            since = Since::Day(day.ok_or_else(error)?);
            next = word(&mut rest);
        }
        members.insert(name, since);
        match next.as_deref() {
            None => return Ok(Classes { by, granularity, members }),
            Some("or") => {}
            Some(_) => return Err(error()),
        }
    }
}
