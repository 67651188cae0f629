//! A class: some values have periods of another granularity than the others.
//!
//! The guide gives frequent devices a partition a day and the others one a month. A device becomes frequent at
//! some time, and its older items keep their keys. So a class has members, each since a day or since ever:
//!
//! 1. The key of an item depends on the item alone: on the value that decides the class and on the time in
//!    the key. A new member, since a future day, changes the key of no stored item.
//! 2. A filter is cut into parts, each with items of the class only or of the others only: by member and,
//!    where a member has a day, at that day. The parts cover the filter, so each matching item has a key that
//!    is visited.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;
use time::{Date, OffsetDateTime, format_description::well_known::Rfc3339};

use super::{FilterVisit, KeyPart, MAX_VISITED_KEYS, StrategyError, visit};
use crate::partitioning::{
    filter::{Filter, FilterCondition},
    key::KeyValue,
    moment::moment,
    path::{PropertyPath, read_quoted},
    period::Granularity,
};

/// The class of a strategy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct KeyClass {
    pub(super) by: PropertyPath,
    granularity: Granularity,
    /// The members, with the day of UTC from which on their items are of the class.
    members: BTreeMap<String, Option<Date>>,
    /// The path of the only period of the key.
    time: PropertyPath,
    /// The levels of the strategy, with this granularity.
    levels: Vec<Vec<KeyPart>>,
}

impl KeyClass {
    /// Parses the notation of a class: `by day where /deviceId is d1 since 2026-11-20 or "d 2"`.
    pub(super) fn read(text: &str, mut levels: Vec<Vec<KeyPart>>) -> Result<Self, StrategyError> {
        let error = || StrategyError::Words(text.trim().to_owned());
        let mut rest = text;
        let word = |rest: &mut &str| {
            let text = rest.trim_start();
            let (word, after) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
            *rest = after;
            word.to_owned()
        };
        let is_by = word(&mut rest) == "by";
        let granularity = Granularity::from_name(&word(&mut rest)).ok_or_else(error)?;
        if !is_by || word(&mut rest) != "where" {
            return Err(error());
        }
        let (by, after) = PropertyPath::read(rest.trim_start())?;
        rest = after;
        let mut next = if word(&mut rest) == "is" { "or".to_owned() } else { String::new() };
        let mut members = BTreeMap::new();
        while next == "or" {
            let member = if rest.trim_start().starts_with('"') {
                let (member, after) = read_quoted(rest).ok_or_else(error)?;
                rest = after;
                member
            } else {
                Some(word(&mut rest)).filter(|member| !member.is_empty()).ok_or_else(error)?
            };
            next = word(&mut rest);
            let mut since = None;
            if next == "since" {
                let format = time::macros::format_description!("[year]-[month]-[day]");
                since = Some(Date::parse(&word(&mut rest), format).map_err(|_| error())?);
                next = word(&mut rest);
            }
            members.insert(member, since);
        }
        if members.is_empty() || !next.is_empty() {
            return Err(error());
        }
        let mut times = Vec::new();
        for part in levels.iter_mut().flatten() {
            if let KeyPart::Period(path, of_part) = part {
                times.push(path.clone());
                *of_part = granularity;
            }
        }
        let [time] = <[_; 1]>::try_from(times).map_err(|_| StrategyError::KeyClass)?;
        Ok(Self { by, granularity, members, time, levels })
    }

    fn member(&self, value: &KeyValue) -> Option<&Option<Date>> {
        self.members.get(&value.text()?)
    }

    /// Returns the levels of an item of the class, or `None` for another item.
    pub(super) fn levels(&self, item: &Value) -> Option<&[Vec<KeyPart>]> {
        let value = |path: &PropertyPath| KeyValue::from_property(path.find(item));
        let is_since = match self.member(&value(&self.by)?)? {
            None => true,
            Some(since) => moment(&value(&self.time)?)? >= since.midnight().assume_utc(),
        };
        is_since.then_some(self.levels.as_slice())
    }

    /// Returns the partitions of a filter; `others` are the levels of the items outside of the class.
    pub(super) fn visit(&self, others: &[Vec<KeyPart>], filter: &Filter) -> FilterVisit {
        let mut keys = Vec::new();
        let mut is_open = false;
        for (is_class, filter) in self.cut(filter) {
            let levels = if is_class { &self.levels } else { others };
            keys.extend(match visit::visit(levels, &filter) {
                FilterVisit::Partitions(keys) => keys,
                FilterVisit::Prefixes(prefixes) => {
                    is_open = true;
                    prefixes
                }
                FilterVisit::All => return FilterVisit::All,
            });
        }
        let keys = visit::each_once(keys);
        match is_open {
            _ if keys.len() > MAX_VISITED_KEYS => FilterVisit::All,
            // A key is a prefix of itself.
            true => FilterVisit::Prefixes(keys),
            false => FilterVisit::Partitions(keys),
        }
    }

    /// Returns the parts of a filter, each with true if its items are of the class.
    fn cut(&self, filter: &Filter) -> Vec<(bool, Filter)> {
        let values = match filter.get(&self.by) {
            Some(FilterCondition::Equals(value)) => std::slice::from_ref(value),
            Some(FilterCondition::OneOf(values)) => values,
            Some(FilterCondition::Range(_)) | None => {
                // Any item may match. Items of the class are not older than its first member.
                let of_class = match self.members.values().min().copied().flatten() {
                    None => Some(filter.clone()),
                    Some(first) => self.part(filter, first.midnight().assume_utc(), true),
                };
                let parts = std::iter::once((false, filter.clone()));
                return parts.chain(of_class.map(|part| (true, part))).collect();
            }
        };
        let mut parts = Vec::new();
        for value in values {
            let mut of_value = filter.clone();
            of_value.insert(self.by.clone(), FilterCondition::Equals(value.clone()));
            match self.member(value) {
                None => parts.push((false, of_value)),
                Some(None) => parts.push((true, of_value)),
                Some(Some(since)) => {
                    let since = since.midnight().assume_utc();
                    for is_class in [false, true] {
                        let part = self.part(&of_value, since, is_class);
                        parts.extend(part.map(|part| (is_class, part)));
                    }
                }
            }
        }
        parts
    }

    /// Returns the part of a filter since a day, or before it, or `None` where nothing is on that side.
    fn part(&self, filter: &Filter, day: OffsetDateTime, is_since: bool) -> Option<Filter> {
        // A value that is no time has no period. It leaves the key open on both sides.
        let is_here = |value: &KeyValue| moment(value).is_none_or(|at| (at >= day) == is_since);
        let day = || Some(KeyValue::Text(day.format(&Rfc3339).unwrap_or_default()));
        let mut part = filter.clone();
        match part.get_mut(&self.time) {
            Some(FilterCondition::Equals(value)) if !is_here(value) => return None,
            Some(FilterCondition::Equals(_)) | None => {}
            Some(FilterCondition::OneOf(values)) => values.retain(is_here),
            Some(FilterCondition::Range(range)) => {
                let bound = if is_since { &mut range.from } else { &mut range.to };
                *bound = bound.take().filter(is_here).or_else(day);
            }
        }
        Some(part)
    }
}

impl fmt::Display for KeyClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} where {} is", self.granularity, self.by)?;
        for (n, (member, since)) in self.members.iter().enumerate() {
            f.write_str(if n > 0 { " or " } else { " " })?;
            let is_word = !member.is_empty()
                && !member.contains(|c: char| c.is_whitespace() || c == '"')
                && !["or", "since"].contains(&member.as_str());
            if is_word {
                f.write_str(member)?;
            } else {
                write!(f, "{}", Value::from(member.as_str()))?;
            }
            if let Some(since) = since {
                write!(f, " since {since}")?;
            }
        }
        Ok(())
    }
}
