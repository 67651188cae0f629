//! All sensible strategies of the properties of a profile.

use cosmos_model::partitioning::{
    KeyPart, KeyStrategy,
    buckets::Buckets,
    path::PropertyPath,
    period::Granularity::{self, Day, Month, Quarter},
};

use super::{ItemProfile, MAX_POOL_STRATEGIES, RequestedPaths};

/// The smallest share of the items that have a property of a key as a text or whole number.
const MIN_USUAL_SHARE: f64 = 0.9;

/// The longest text of a key, in bytes: the limit of containers without large keys.
const MAX_TEXT_BYTES: usize = 101;

/// The numbers of values and times that are combined.
const MAX_VALUES: usize = 8;
const MAX_PAIRED_VALUES: usize = 5;
const MAX_TIMES: usize = 2;

/// The number of values below which a property gets buckets (guide: Partition Key Design Checklist).
const MIN_UNBUCKETED_VALUES: usize = 100;

/// The guide's numbers of buckets.
const BUCKETS_ALONE: u32 = 100;
const BUCKETS_OF_A_VALUE: u32 = 10;

pub(super) fn pool(profile: &ItemProfile, wishes: &RequestedPaths) -> Vec<KeyStrategy> {
    let times = times(profile, wishes);
    let values = values(profile, wishes, &times);
    let paired = &values[..values.len().min(MAX_PAIRED_VALUES)];
    let id = values.iter().find(|path| distinct(profile, path) == profile.items());
    let mut pool = StrategyPool::default();
    for path in &values {
        pool.add(vec![vec![value(path)]]);
    }
    for path in paired {
        for time in &times {
            for granularity in [Month, Day, Quarter] {
                pool.add(vec![vec![value(path), period(time, granularity)]]);
            }
            pool.add(vec![vec![value(path)], vec![period(time, Month)]]);
        }
    }
    for path in paired {
        for other in paired.iter().filter(|other| *other != path) {
            let is_coarser = distinct(profile, path) <= distinct(profile, other);
            if is_coarser {
                pool.add(vec![vec![value(path)], vec![value(other)]]);
            }
            let are_wished = [path, other].iter().all(|path| wishes.equal.contains(path));
            if is_coarser && (are_wished || Some(other) != id) {
                pool.add(vec![vec![value(path), value(other)]]);
            }
        }
    }
    for time in &times {
        for granularity in [Month, Day] {
            pool.add(vec![vec![period(time, granularity)]]);
            pool.add_buckets(id, BUCKETS_OF_A_VALUE, |bucket| {
                vec![vec![period(time, granularity), bucket]]
            });
        }
    }
    for path in values.iter().filter(|path| Some(*path) != id) {
        if distinct(profile, path) < MIN_UNBUCKETED_VALUES {
            pool.add_buckets(id, BUCKETS_OF_A_VALUE, |bucket| vec![vec![value(path), bucket]]);
        }
    }
    // Fewer values than buckets would be the values themselves, less readable.
    let is_enough = |path: &&PropertyPath| distinct(profile, path) >= 2 * BUCKETS_ALONE as usize;
    for path in paired.iter().filter(is_enough) {
        pool.add_buckets(Some(path), BUCKETS_ALONE, |bucket| vec![vec![bucket]]);
    }
    pool.0.truncate(MAX_POOL_STRATEGIES);
    pool.0
}

#[derive(Default)]
struct StrategyPool(Vec<KeyStrategy>);

impl StrategyPool {
    fn add(&mut self, levels: Vec<Vec<KeyPart>>) {
        if let Ok(strategy) = KeyStrategy::new(levels)
            && !self.0.contains(&strategy)
        {
            self.0.push(strategy);
        }
    }

    fn add_buckets(
        &mut self,
        of: Option<&PropertyPath>,
        n: u32,
        levels: impl FnOnce(KeyPart) -> Vec<Vec<KeyPart>>,
    ) {
        if let (Some(path), Some(buckets)) = (of, Buckets::new(n)) {
            self.add(levels(KeyPart::Bucket(path.clone(), buckets)));
        }
    }
}

/// Returns the properties that are times: first those with a range or an order in requests, then those with
/// the most days.
fn times(profile: &ItemProfile, wishes: &RequestedPaths) -> Vec<PropertyPath> {
    let is_time = |n: usize, items: usize| as_share(n, items) >= MIN_USUAL_SHARE;
    let mut times: Vec<_> = profile
        .paths()
        .filter(|(_, path)| is_time(path.times, profile.items()) && path.days() > 1)
        .collect();
    times.sort_by_key(|(path, profile)| {
        (place(path, &wishes.ordered), std::cmp::Reverse(profile.days()))
    });
    times.into_iter().take(MAX_TIMES).map(|(path, _)| path.clone()).collect()
}

/// Returns the properties that can be a key: first those that requests name, then those with the most values.
fn values(
    profile: &ItemProfile,
    wishes: &RequestedPaths,
    times: &[PropertyPath],
) -> Vec<PropertyPath> {
    let mut values: Vec<_> = profile
        .paths()
        .filter(|(path, values)| {
            as_share(values.scalar - values.truths, profile.items()) >= MIN_USUAL_SHARE
                && as_share(values.times, profile.items()) < MIN_USUAL_SHARE
                && values.longest <= MAX_TEXT_BYTES
                && (values.distinct() > 1 || wishes.equal.contains(path))
                && !times.contains(path)
        })
        .collect();
    values.sort_by_key(|(path, values)| {
        (place(path, &wishes.equal), std::cmp::Reverse(values.distinct()), path.names().len())
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

fn distinct(profile: &ItemProfile, path: &PropertyPath) -> usize {
    profile.path(path).map_or(0, super::PathProfile::distinct)
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn as_share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn value(path: &PropertyPath) -> KeyPart {
    KeyPart::Value(path.clone())
}

fn period(path: &PropertyPath, granularity: Granularity) -> KeyPart {
    KeyPart::Period(path.clone(), granularity)
}
