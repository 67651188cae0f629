//! Classes: some values have keys of another granularity than the others.
//!
//! The guide gives frequent devices a partition a day and the others one a month. A device becomes
//! frequent at some time, and its older items keep their keys. So a class has members, each since a
//! day or since ever, and the time of an item decides:
//!
//! 1. The key of an item depends on the item alone: on the value that decides the class and on the time in
//!    the key. A new member, since a future day, changes the key of no stored item.
//! 2. A filter is cut into parts, each with one class for all items: by member and, where a member has a
//!    day, at that day. Each part is visited with the granularity of its class. The
//!    parts cover the filter, so each matching item has a key that is visited.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use time::{Date, OffsetDateTime};

use super::{FilterVisit, KeyPart, KeyStrategy, StrategyError, visit};
use crate::partitioning::{
    filter::{Filter, FilterCondition, ValueRange},
    key::KeyValue,
    moment::{self, moment},
    path::PropertyPath,
    period::Granularity,
};

/// A class: its members, and the granularity of their periods.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyClass {
    by: PropertyPath,
    granularity: Granularity,
    members: BTreeMap<String, ClassSince>,
}

/// The time from which on a value is a member of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassSince {
    /// Always: all items of the value are of the class.
    Ever,
    /// Since the start of this day of UTC: its items from then on are of the class.
    Day(Date),
}

/// A strategy's levels, with the class's granularity, and the class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassedLevels {
    classes: KeyClass,
    /// The path of the only period of the key.
    time: PropertyPath,
    levels: Vec<Vec<KeyPart>>,
}

impl KeyClass {
    /// Returns the class of the items that have one of these values at `by`.
    pub fn new(
        by: PropertyPath,
        granularity: Granularity,
        members: impl IntoIterator<Item = (String, ClassSince)>,
    ) -> Self {
        Self { by, granularity, members: members.into_iter().collect() }
    }

    fn member(&self, value: &KeyValue) -> Option<ClassSince> {
        self.members.get(&value.text()?).copied()
    }
}

impl KeyStrategy {
    /// Returns this strategy with a class. The key must have exactly one period.
    pub fn with_classes(mut self, classes: KeyClass) -> Result<Self, StrategyError> {
        let mut levels = self.levels.clone();
        let mut time = None;
        for part in levels.iter_mut().flatten() {
            if let KeyPart::Period(path, granularity) = part {
                if time.is_some() {
                    return Err(StrategyError::KeyClass);
                }
                time = Some(path.clone());
                *granularity = classes.granularity;
            }
        }
        let time = time.ok_or(StrategyError::KeyClass)?;
        self.classed = Some(Box::new(ClassedLevels { classes, time, levels }));
        Ok(self)
    }

    /// Returns the class, if there is one.
    pub fn classes(&self) -> Option<&KeyClass> {
        self.classed.as_ref().map(|classed| &classed.classes)
    }
}

impl ClassedLevels {
    /// Returns the levels of an item of the class, or `None` for another item.
    pub(super) fn levels(&self, item: &serde_json::Value) -> Option<&[Vec<KeyPart>]> {
        let value = |path: &PropertyPath| KeyValue::from_property(path.find(item)).ok();
        let since = self.classes.member(&value(&self.classes.by)?)?;
        let is_since = match since {
            ClassSince::Ever => true,
            ClassSince::Day(since) => moment(&value(&self.time)?)? >= start(since),
        };
        is_since.then_some(self.levels.as_slice())
    }

    pub(super) fn visit(&self, others: &[Vec<KeyPart>], filter: &Filter) -> FilterVisit {
        let visits = self.cut(filter).into_iter().map(|(is_class, filter)| {
            visit::visit(if is_class { &self.levels } else { others }, &filter)
        });
        visits.reduce(FilterVisit::or).unwrap_or(FilterVisit::Partitions(Vec::new()))
    }

    /// Returns the parts of a filter, each with true if its items are of the class.
    fn cut(&self, filter: &Filter) -> Vec<(bool, Filter)> {
        let members = &self.classes.members;
        let values = match filter.condition(&self.classes.by) {
            Some(FilterCondition::Equals(value)) => std::slice::from_ref(value),
            Some(FilterCondition::OneOf(values)) => values,
            Some(FilterCondition::Range(_)) | None => {
                // Any item may match. Items of the class are not older than its first member.
                let first = members.values().min();
                let of_class = first.and_then(|first| self.part(filter, DaySide::Since, *first));
                let mut parts = vec![(false, filter.clone())];
                parts.extend(of_class.map(|part| (true, part)));
                return parts;
            }
        };
        let among = |since: Option<ClassSince>| -> Filter {
            let these = values.iter().filter(|value| self.classes.member(value) == since);
            filter.with(&self.classes.by, FilterCondition::OneOf(these.cloned().collect()))
        };
        let days: BTreeSet<_> = values.iter().map(|value| self.classes.member(value)).collect();
        let mut parts = Vec::new();
        for day in days {
            let these = among(day);
            match day {
                None => parts.push((false, these)),
                Some(since) => {
                    let before = self.part(&these, DaySide::Before, since);
                    parts.extend(before.map(|part| (false, part)));
                    parts.extend(self.part(&these, DaySide::Since, since).map(|part| (true, part)));
                }
            }
        }
        parts
    }

    /// Returns the part of a filter on one side of a day, or `None` where nothing is on that side.
    fn part(&self, filter: &Filter, side: DaySide, since: ClassSince) -> Option<Filter> {
        let ClassSince::Day(day) = since else {
            return (side == DaySide::Since).then(|| filter.clone());
        };
        let Some(condition) = filter.condition(&self.time) else { return Some(filter.clone()) };
        let day = start(day);
        let is_here = |value: &KeyValue| {
            // A value that is no time has no period. It leaves the key open on both sides.
            moment(value).is_none_or(|at| (at >= day) == (side == DaySide::Since))
        };
        let condition = match condition {
            FilterCondition::Equals(value) if is_here(value) => condition.clone(),
            FilterCondition::Equals(_) => return None,
            FilterCondition::OneOf(values) => FilterCondition::OneOf(
                values.iter().filter(|value| is_here(value)).cloned().collect(),
            ),
            FilterCondition::Range(ValueRange { from, to }) => {
                let bound =
                    |bound: &Option<KeyValue>,
                     is_kept: fn(OffsetDateTime, OffsetDateTime) -> bool| {
                        match bound.as_ref().map(|bound| (bound, moment(bound))) {
                            Some((bound, None)) => Some(bound.clone()),
                            Some((bound, Some(at))) if is_kept(at, day) => Some(bound.clone()),
                            _ => Some(moment::value(day)),
                        }
                    };
                FilterCondition::Range(match side {
                    DaySide::Before => {
                        ValueRange { from: from.clone(), to: bound(to, |to, day| to < day) }
                    }
                    DaySide::Since => {
                        ValueRange { from: bound(from, |from, day| from > day), to: to.clone() }
                    }
                })
            }
        };
        Some(filter.with(&self.time, condition))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DaySide {
    Before,
    Since,
}

fn start(day: Date) -> OffsetDateTime {
    day.midnight().assume_utc()
}

impl fmt::Display for KeyClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} where {} is", self.granularity, self.by)?;
        for (n, (member, since)) in self.members.iter().enumerate() {
            f.write_str(if n > 0 { " or " } else { " " })?;
            if is_word(member) {
                f.write_str(member)?;
            } else {
                write!(f, "{}", serde_json::Value::from(member.as_str()))?;
            }
            if let ClassSince::Day(since) = since {
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

/// Parses the notation of a [`KeyClass`].
pub(super) fn read(text: &str) -> Result<KeyClass, StrategyError> {
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
    let (by, mut rest) = PropertyPath::read(rest.trim_start())?;
    expect(&mut rest, "is").ok_or_else(error)?;
    let mut members = BTreeMap::new();
    loop {
        let name = member(&mut rest).ok_or_else(error)?;
        let mut next = word(&mut rest);
        let mut since = ClassSince::Ever;
        if next.as_deref() == Some("since") {
            let format = time::macros::format_description!("[year]-[month]-[day]");
            let day = word(&mut rest).and_then(|day| Date::parse(&day, format).ok());
            since = ClassSince::Day(day.ok_or_else(error)?);
            next = word(&mut rest);
        }
        members.insert(name, since);
        match next.as_deref() {
            None => return Ok(KeyClass { by, granularity, members }),
            Some("or") => {}
            Some(_) => return Err(error()),
        }
    }
}
