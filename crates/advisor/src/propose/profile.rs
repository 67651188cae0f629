//! A profile of the properties of some items.

use std::collections::{BTreeMap, HashSet};

use cosmos_model::partitioning::{KeyValue, moment::moment, path::PropertyPath};
use serde_json::Value;
use time::Date;

use crate::{sample::SampleItem, sketch::hash};

const MAX_PROFILE_PATHS: usize = 200;
const MAX_PROFILE_DEPTH: usize = 3;

/// The numbers that are times, in seconds since 1970: the years 2000 to 2099.
const TIME_SECONDS: std::ops::Range<f64> = 946_684_800.0..4_102_444_800.0;

const SYSTEM_PROPERTIES: [&str; 6] = ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"];

#[derive(Debug, Default)]
pub(crate) struct ItemProfile {
    pub(crate) items: usize,
    pub(crate) paths: BTreeMap<PropertyPath, PathProfile>,
}

#[derive(Debug, Default)]
pub(crate) struct PathProfile {
    pub(crate) present: usize,
    pub(crate) scalar: usize,
    pub(crate) truths: usize,
    pub(crate) times: usize,
    pub(crate) longest: usize,
    pub(crate) values: HashSet<u64>,
    pub(crate) days: HashSet<Date>,
}

impl ItemProfile {
    pub(crate) fn new(items: &[SampleItem]) -> Self {
        let mut profile = Self { items: items.len(), paths: BTreeMap::new() };
        for item in items {
            profile.visit(&item.value, &mut Vec::new());
        }
        profile
    }

    fn visit(&mut self, value: &Value, names: &mut Vec<String>) {
        if let Value::Object(properties) = value {
            if names.len() == MAX_PROFILE_DEPTH {
                return;
            }
            for (name, value) in properties {
                if names.is_empty() && SYSTEM_PROPERTIES.contains(&name.as_str()) {
                    continue;
                }
                names.push(name.clone());
                self.visit(value, names);
                names.pop();
            }
            return;
        }
        let Some(path) = path_of(names) else { return };
        if self.paths.len() >= MAX_PROFILE_PATHS && !self.paths.contains_key(&path) {
            return;
        }
        let day = day(value);
        let profile = self.paths.entry(path).or_default();
        match value {
            Value::Null => return,
            Value::String(text) => profile.longest = profile.longest.max(text.len()),
            Value::Bool(_) => profile.truths += 1,
            Value::Number(_) | Value::Array(_) | Value::Object(_) => {}
        }
        profile.present += 1;
        let is_scalar = match value {
            Value::Number(number) => number.is_i64() || number.is_u64(),
            value => value.is_string() || value.is_boolean(),
        };
        if is_scalar {
            profile.scalar += 1;
            profile.values.insert(hash(&value.to_string()));
        }
        if let Some(day) = day {
            profile.times += 1;
            profile.days.insert(day);
        }
    }
}

fn path_of(names: &[String]) -> Option<PropertyPath> {
    let quoted = names.iter().map(|name| format!("/{}", Value::from(name.as_str())));
    quoted.collect::<String>().parse().ok()
}

/// Returns the day of a value that is a time. A number is one only within [`TIME_SECONDS`].
fn day(value: &Value) -> Option<Date> {
    if let Some(number) = value.as_f64()
        && !TIME_SECONDS.contains(&number)
        && !TIME_SECONDS.contains(&(number / 1_000.0))
    {
        return None;
    }
    Some(moment(&KeyValue::from_property(Some(value))?)?.date())
}

const CREATION_WORDS: [&str; 4] = ["creat", "timestamp", "time", "date"];

/// Words in the names of other times: of a change, of an end, or of something that is no write.
const OTHER_TIME_WORDS: [&str; 11] =
    ["updat", "modif", "chang", "edit", "expir", "due", "delet", "valid", "until", "end", "birth"];

/// Returns the property that is a time of creation in most items, or `None` where only `/_ts` can be one.
pub(crate) fn time_of_creation(profile: &ItemProfile) -> Option<PropertyPath> {
    let name =
        |path: &PropertyPath| path.names().last().map_or(String::new(), |name| name.to_lowercase());
    let place =
        |path: &PropertyPath| CREATION_WORDS.iter().position(|word| name(path).contains(word));
    let times = profile.paths.iter().filter(|(path, values)| {
        let is_other = OTHER_TIME_WORDS.iter().any(|word| name(path).contains(word));
        values.times > profile.items / 2 && (!is_other || place(path) == Some(0))
    });
    let best = times.min_by_key(|(path, values)| {
        (place(path).unwrap_or(CREATION_WORDS.len()), std::cmp::Reverse(values.times))
    });
    best.map(|(path, _)| path.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_creation_comes_before_all_others_and_a_change_or_an_end_is_none() {
        let at = "2026-11-22T00:00:00Z";
        let all = json!({"updatedAt": at, "date": at, "createdAt": at, "dueDate": at, "_ts": 1});
        for (value, expected) in [
            (all, Some("/createdAt")),
            (json!({"updatedAt": at, "scheduled": at}), Some("/scheduled")),
            (json!({"updatedAt": at}), None),
            (json!({"expiryDate": at}), None),
            (json!({"_ts": 1}), None),
            (json!({}), None),
        ] {
            let profile = ItemProfile::new(&[SampleItem { value, bytes: 0 }]);
            let found = time_of_creation(&profile).map(|path| path.to_string());
            assert_eq!(found.as_deref(), expected, "{profile:?}");
        }
    }
}
