//! All sensible strategies of the properties of a profile.

use tributary_partitioning::{
    KeyStrategy, Part,
    buckets::Buckets,
    path::Path,
    period::Granularity::{self, Day, Month, Quarter},
};

use super::{MOST_IN_POOL, Profile, Wishes};

/// A property is one of a key when at least this share of the items has it as a text or whole number.
const USUAL: f64 = 0.9;

/// The longest text that is one of a key, in bytes: the limit of containers without large keys.
const LONGEST: usize = 101;

/// As many values and times as are combined.
const VALUES: usize = 8;
const PAIRED: usize = 5;
const TIMES: usize = 2;

/// A property of fewer values than this gets buckets (guide: Partition Key Design Checklist).
const FEW: usize = 100;

/// The guide's numbers of buckets.
const BUCKETS: u32 = 100;
const BUCKETS_OF_A_VALUE: u32 = 10;

pub(super) fn pool(profile: &Profile, wishes: &Wishes) -> Vec<KeyStrategy> {
    let times = times(profile, wishes);
    let values = values(profile, wishes, &times);
    let paired = &values[..values.len().min(PAIRED)];
    let id = values.iter().find(|path| distinct(profile, path) == profile.items());
    let mut pool = Pool::default();
    for path in &values {
        pool.add(vec![vec![value(path)]]);
    }
    for one in paired {
        for time in &times {
            for granularity in [Month, Day, Quarter] {
                pool.add(vec![vec![value(one), period(time, granularity)]]);
            }
            pool.add(vec![vec![value(one)], vec![period(time, Month)]]);
        }
    }
    for one in paired {
        for other in paired.iter().filter(|other| *other != one) {
            let is_coarser = distinct(profile, one) <= distinct(profile, other);
            if is_coarser {
                pool.add(vec![vec![value(one)], vec![value(other)]]);
            }
            let are_wished = [one, other].iter().all(|path| wishes.equal.contains(path));
            if is_coarser && (are_wished || Some(other) != id) {
                pool.add(vec![vec![value(one), value(other)]]);
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
    for one in values.iter().filter(|path| Some(*path) != id) {
        if distinct(profile, one) < FEW {
            pool.add_buckets(id, BUCKETS_OF_A_VALUE, |bucket| vec![vec![value(one), bucket]]);
        }
    }
    // Fewer values than buckets would be the values themselves, less readable.
    let is_enough = |path: &&Path| distinct(profile, path) >= 2 * BUCKETS as usize;
    for one in paired.iter().filter(is_enough) {
        pool.add_buckets(Some(one), BUCKETS, |bucket| vec![vec![bucket]]);
    }
    pool.0.truncate(MOST_IN_POOL);
    pool.0
}

#[derive(Default)]
struct Pool(Vec<KeyStrategy>);

impl Pool {
    fn add(&mut self, levels: Vec<Vec<Part>>) {
        if let Ok(strategy) = KeyStrategy::new(levels)
            && !self.0.contains(&strategy)
        {
            self.0.push(strategy);
        }
    }

    fn add_buckets(
        &mut self,
        of: Option<&Path>,
        n: u32,
        levels: impl FnOnce(Part) -> Vec<Vec<Part>>,
    ) {
        if let (Some(path), Some(buckets)) = (of, Buckets::new(n)) {
            self.add(levels(Part::Bucket(path.clone(), buckets)));
        }
    }
}

/// Returns the properties that are times: those that requests want a range or an order of first, then
/// those with the most days.
fn times(profile: &Profile, wishes: &Wishes) -> Vec<Path> {
    let is_time = |n: usize, items: usize| as_share(n, items) >= USUAL;
    let mut times: Vec<_> = profile
        .paths()
        .filter(|(_, path)| is_time(path.times, profile.items()) && path.days() > 1)
        .collect();
    times.sort_by_key(|(path, profile)| {
        (place(path, &wishes.ordered), std::cmp::Reverse(profile.days()))
    });
    times.into_iter().take(TIMES).map(|(path, _)| path.clone()).collect()
}

/// Returns the properties of which a key can be made: those that requests name first, then those with
/// the most values.
fn values(profile: &Profile, wishes: &Wishes, times: &[Path]) -> Vec<Path> {
    let mut values: Vec<_> = profile
        .paths()
        .filter(|(path, values)| {
            as_share(values.scalar - values.truths, profile.items()) >= USUAL
                && as_share(values.times, profile.items()) < USUAL
                && values.longest <= LONGEST
                && (values.distinct() > 1 || wishes.equal.contains(path))
                && !times.contains(path)
        })
        .collect();
    values.sort_by_key(|(path, values)| {
        (place(path, &wishes.equal), std::cmp::Reverse(values.distinct()), path.names().len())
    });
    let mut values: Vec<Path> = values.into_iter().map(|(path, _)| path.clone()).collect();
    // The id is always worth a look: point reads are the cheapest requests.
    let id = Path::of("id");
    if let Some(at) = values.iter().position(|path| *path == id).filter(|at| *at >= VALUES) {
        values.swap(at, VALUES - 1);
    }
    values.truncate(VALUES);
    values
}

fn place(path: &Path, of: &[Path]) -> usize {
    of.iter().position(|other| other == path).unwrap_or(usize::MAX)
}

fn distinct(profile: &Profile, path: &Path) -> usize {
    profile.path(path).map_or(0, super::PathProfile::distinct)
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn as_share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn value(path: &Path) -> Part {
    Part::Value(path.clone())
}

fn period(path: &Path, granularity: Granularity) -> Part {
    Part::Period(path.clone(), granularity)
}
