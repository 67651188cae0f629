//! All sensible strategies of the properties of a profile.

use std::{cmp::Reverse, collections::HashSet};

use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};

use super::{ItemProfile, MAX_POOL_STRATEGIES, RequestedPaths};
use crate::words::float;

/// The smallest share of the items that have a property of a key as a text or whole number.
const MIN_USUAL_SHARE: f64 = 0.9;

/// The longest text of a key, in bytes: the limit of containers without large keys.
const MAX_TEXT_BYTES: usize = 101;

const MAX_VALUES: usize = 8;
const MAX_PAIRED_VALUES: usize = 5;
const MAX_TIMES: usize = 2;

/// The number of values below which a property gets buckets (guide: Partition Key Design Checklist).
const MIN_UNBUCKETED_VALUES: usize = 100;

pub(super) fn pool(profile: &ItemProfile, wishes: &RequestedPaths) -> Vec<KeyStrategy> {
    let times = times(profile, wishes);
    let values = values(profile, wishes, &times);
    let distinct = |path| profile.paths.get(path).map_or(0, |path| path.values.len());
    let paired = &values[..values.len().min(MAX_PAIRED_VALUES)];
    let id = values.iter().find(|path| distinct(path) == profile.items);
    let mut keys: Vec<String> = values.iter().map(ToString::to_string).collect();
    for path in paired {
        for time in &times {
            keys.extend(["month", "day", "quarter"].map(|by| format!("{path}+{time} by {by}")));
            keys.push(format!("{path},{time} by month"));
        }
    }
    for path in paired {
        for other in paired.iter().filter(|other| distinct(path) <= distinct(other)) {
            keys.push(format!("{path},{other}"));
            let are_wished = wishes.equal.contains(path) && wishes.equal.contains(other);
            keys.extend((are_wished || Some(other) != id).then(|| format!("{path}+{other}")));
        }
    }
    for key in times.iter().flat_map(|time| ["month", "day"].map(|by| format!("{time} by {by}"))) {
        keys.extend(id.map(|id| format!("{key}+{id} in 10 buckets")));
        keys.push(key);
    }
    let few = values.iter().filter(|path| distinct(path) < MIN_UNBUCKETED_VALUES);
    for path in few.filter(|path| Some(*path) != id) {
        keys.extend(id.map(|id| format!("{path}+{id} in 10 buckets")));
    }
    // Fewer values than buckets would be the values themselves, less readable.
    let many = paired.iter().filter(|path| distinct(path) >= 200);
    keys.extend(many.map(|path| format!("{path} in 100 buckets")));
    let mut seen = HashSet::new();
    // A pair of a property with itself is no strategy.
    let pool = keys.iter().filter_map(|key| key.parse().ok());
    pool.filter(|key: &KeyStrategy| seen.insert(key.clone())).take(MAX_POOL_STRATEGIES).collect()
}

/// First those with a range or an order in requests, then those with the most days.
fn times(profile: &ItemProfile, wishes: &RequestedPaths) -> Vec<PropertyPath> {
    let is_time = |times: usize| as_share(times, profile.items) >= MIN_USUAL_SHARE;
    let times = profile.paths.iter();
    let times = times.filter(|(_, path)| is_time(path.times) && path.days.len() > 1);
    let mut times: Vec<_> = times.collect();
    times.sort_by_key(|(path, seen)| (place(path, &wishes.ordered), Reverse(seen.days.len())));
    times.into_iter().take(MAX_TIMES).map(|(path, _)| path.clone()).collect()
}

/// Returns the properties that can be a key: first those that requests name, then those with the most values.
fn values(
    profile: &ItemProfile,
    wishes: &RequestedPaths,
    times: &[PropertyPath],
) -> Vec<PropertyPath> {
    let values = profile.paths.iter().filter(|(path, values)| {
        as_share(values.scalar - values.truths, profile.items) >= MIN_USUAL_SHARE
            && as_share(values.times, profile.items) < MIN_USUAL_SHARE
            && values.longest <= MAX_TEXT_BYTES
            && (values.values.len() > 1 || wishes.equal.contains(path))
            && !times.contains(path)
    });
    let mut values: Vec<_> = values.collect();
    values.sort_by_key(|(path, values)| {
        (place(path, &wishes.equal), Reverse(values.values.len()), path.names().len())
    });
    let mut values: Vec<PropertyPath> = values.into_iter().map(|(path, _)| path.clone()).collect();
    // The id is always a candidate: point reads are the cheapest requests.
    let id = PropertyPath::from_name("id");
    if let Some(at) = values.iter().position(|path| *path == id).filter(|at| *at >= MAX_VALUES) {
        values.swap(at, MAX_VALUES - 1);
    }
    values.truncate(MAX_VALUES);
    values
}

fn place(path: &PropertyPath, of: &[PropertyPath]) -> usize {
    of.iter().position(|other| other == path).unwrap_or(usize::MAX)
}

fn as_share(part: usize, whole: usize) -> f64 {
    float(part as u64) / float(whole.max(1) as u64)
}
