//! A world whose clock moves: items are posted, edited, moved by their dates, migrated and archived by
//! two instances, and the handler is killed at any step. At every moment each stored item is in every
//! window that covers it, once.

use std::collections::BTreeMap;

use futures::join;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::{runtime::Runtime, task::yield_now};

use super::given::{HYBRID, MONTHLY, Newsroom};
use crate::world::World;

#[derive(Debug, Clone)]
struct Post {
    /// The index of one of a few items.
    item: usize,
    /// The time of publication, in hours before now; `None` keeps the former one.
    hours_ago: Option<u32>,
}

#[derive(Debug, Clone)]
enum Step {
    Post(Post),
    Batch(Vec<Post>),
    /// Two instances store the same item while a third migrates.
    Race(Post, Post),
    Migrate,
    Archive,
    /// Lets days pass; expired items are deleted at once, or later.
    Days(i64, bool),
    Hours(i64),
}

/// A possible state of an item: its date and its title; `None` if the item may be missing.
type State = Option<(String, String)>;

fn posts() -> impl Strategy<Value = Post> {
    let hours = prop_oneof![
        3 => 0..24 * 29_u32,
        // Ages around the border between the hot and the warm container.
        2 => 24 * 29..24 * 31_u32,
        2 => 24 * 30 - 4..24 * 30 + 4_u32,
        3 => 24 * 31..24 * 200_u32,
        1 => 24 * 400..24 * 900_u32,
    ];
    (0..6_usize, proptest::option::weighted(0.7, hours))
        .prop_map(|(item, hours_ago)| Post { item, hours_ago })
}

fn steps() -> impl Strategy<Value = Vec<(Step, Option<usize>)>> {
    let step = prop_oneof![
        6 => posts().prop_map(Step::Post),
        1 => proptest::collection::vec(posts(), 1..5).prop_map(Step::Batch),
        2 => (posts(), posts()).prop_map(|(one, mut other)| {
            other.item = one.item;
            Step::Race(one, other)
        }),
        3 => Just(Step::Migrate),
        2 => Just(Step::Archive),
        2 => (1..25_i64, any::<bool>()).prop_map(|(days, expire)| Step::Days(days, expire)),
        2 => (1..9_i64).prop_map(Step::Hours),
    ];
    // The request to the store at which the handler is killed.
    proptest::collection::vec((step, proptest::option::weighted(0.3, 1..14_usize)), 1..24)
}

struct Story {
    one: Newsroom,
    other: Newsroom,
    /// The possible states of each item by now.
    states: BTreeMap<usize, Vec<State>>,
    posted: usize,
}

impl Story {
    async fn begin(settings: &[(&str, &str)]) -> Self {
        let one = Newsroom::with(World::new().await, settings).await;
        let other = one.with_settings(settings).await;
        Self { one, other, states: BTreeMap::new(), posted: 0 }
    }

    /// The body of a post. Each has a title of its own.
    fn body(&mut self, post: &Post) -> Value {
        self.posted += 1;
        let days = f64::from(post.hours_ago.unwrap_or(24)) / 24.0;
        let provider = ["reuters", "gazette", "herald"][post.item % 3];
        let mut body = self.one.item(provider, &post.item.to_string(), days);
        body["title"] = json!(format!("Version {}.", self.posted));
        let known = self.states.get(&post.item).and_then(|states| states.last()).cloned().flatten();
        if let (None, Some((date, _))) = (post.hours_ago, known) {
            body["publishedDate"] = json!(date);
        }
        body
    }

    /// The item is one of these from now on.
    fn is(&mut self, item: usize, bodies: &[&Value]) {
        let states = bodies.iter().map(|body| Some(state(body))).collect();
        self.states.insert(item, states);
    }

    /// The item may be this, too.
    fn may_be(&mut self, item: usize, body: &Value) {
        self.states.entry(item).or_insert_with(|| vec![None]).push(Some(state(body)));
    }

    /// Runs an operation, or kills the handler at its n-th request to the store.
    async fn until<T>(&self, kill: Option<usize>, operation: impl Future<Output = T>) -> Option<T> {
        let endpoint = &self.one.world.endpoint;
        let Some(kill) = kill else { return Some(operation.await) };
        let end = endpoint.request_count() + kill;
        let killed = async {
            while endpoint.request_count() < end {
                yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = killed => None,
            result = operation => Some(result),
        }
    }

    async fn step(&mut self, (step, kill): (Step, Option<usize>)) {
        let one = self.one.clone();
        let other = self.other.clone();
        match step {
            Step::Post(post) => {
                let body = self.body(&post);
                let room = if self.posted.is_multiple_of(2) { &one } else { &other };
                let answer = room.world.post("/api/news/items", body.clone());
                match self.until(kill, answer).await {
                    Some(answer) => {
                        assert!(answer.status.is_success(), "{}", answer.text);
                        self.is(post.item, &[&body]);
                    }
                    None => self.may_be(post.item, &body),
                }
            }
            Step::Batch(posts) => {
                let bodies: Vec<Value> = posts.iter().map(|post| self.body(post)).collect();
                let answer = one.world.post("/api/news/items/batch", json!({"items": bodies}));
                let answer = self.until(kill, answer).await;
                for (post, body) in posts.iter().zip(&bodies) {
                    match &answer {
                        Some(answer) => {
                            assert_eq!(answer.status, 200, "{}", answer.text);
                            assert_eq!(answer.json()["failed"], 0, "{}", answer.text);
                            self.is(post.item, &[body]);
                        }
                        None => self.may_be(post.item, body),
                    }
                }
            }
            Step::Race(a, b) => {
                let bodies = [self.body(&a), self.body(&b)];
                let third = one.clone();
                let (x, y, _) = join!(
                    one.world.post("/api/news/items", bodies[0].clone()),
                    other.world.post("/api/news/items", bodies[1].clone()),
                    third.migrate(),
                );
                assert!(x.status.is_success() && y.status.is_success(), "{} {}", x.text, y.text);
                self.is(a.item, &[&bodies[0], &bodies[1]]);
            }
            Step::Migrate => {
                if let Some(done) = self.until(kill, one.migrate()).await {
                    assert_eq!(done["failed"], 0);
                }
            }
            Step::Archive => drop(self.until(kill, other.archive()).await),
            Step::Days(days, true) => one.days_pass(days).await,
            Step::Hours(hours) => one.hours_pass(hours).await,
            Step::Days(days, false) => one.days_pass_without_expiry(days),
        }
    }

    /// Each item is in the lists once, in an allowed state. Archived items are not listed.
    async fn check(&self, limit: u32) {
        let room = if limit.is_multiple_of(2) { &self.one } else { &self.other };
        for providers in [&[""][..], &["reuters", "gazette", "herald"]] {
            let mut found: BTreeMap<usize, Vec<(String, String)>> = BTreeMap::new();
            for provider in providers {
                for window in (0..4).map(|n| f64::from(n) * 90.0) {
                    let to = if window == 0.0 { -1.0 } else { window };
                    let filter = if provider.is_empty() {
                        String::new()
                    } else {
                        format!("provider={provider}&")
                    };
                    let from = room.days_ago(window + 90.0);
                    let to = room.days_ago(to);
                    let query = format!("{filter}from={from}&to={to}");
                    for item in room.items(&query, limit).await {
                        let number =
                            item["sourceUrl"].as_str().unwrap().rsplit('/').next().unwrap();
                        found.entry(number.parse().unwrap()).or_default().push(state(&item));
                    }
                }
            }
            let listed_since = room.days_ago(360.0);
            for (item, states) in &self.states {
                let found = found.remove(item).unwrap_or_default();
                let is_listed =
                    |state: &State| state.as_ref().is_some_and(|(date, _)| *date > listed_since);
                match found.as_slice() {
                    [] => assert!(!states.iter().all(is_listed), "{item} is lost: {states:?}"),
                    [one] => assert!(
                        states.contains(&Some(one.clone())),
                        "{item} is {one:?}, and not one of {states:?}"
                    ),
                    many => panic!("{item} is there {} times: {many:?}", many.len()),
                }
            }
            assert!(found.is_empty(), "{found:?}");
        }
        self.check_search(room, limit).await;
    }

    /// A search finds the items that have a title now, and none that had it.
    async fn check_search(&self, room: &Newsroom, limit: u32) {
        let since = room.days_ago(360.0);
        for posted in [self.posted, self.posted.saturating_sub(1), self.posted / 2] {
            let title = format!("Version {posted}.");
            let query = format!("q={}&from={since}", title.replace(' ', "%20"));
            let found: Vec<_> = room.found(&query, limit).await.iter().map(state).collect();
            assert!(found.iter().all(|(_, found)| *found == title), "{title}: {found:?}");
            for states in self.states.values() {
                let is_found = |state: &State| {
                    state.as_ref().is_some_and(|(date, it)| *date > since && *it == title)
                };
                let n =
                    found.iter().filter(|found| states.contains(&Some((*found).clone()))).count();
                let is_certain = states.iter().all(is_found);
                let is_possible = states.iter().any(is_found);
                assert!(n <= usize::from(is_possible), "{title} is found {n} times");
                assert!(n == 1 || !is_certain, "{title} is not found: {states:?}");
            }
        }
    }
}

fn state(item: &Value) -> (String, String) {
    let text = |name: &str| item[name].as_str().unwrap().to_owned();
    (text("publishedDate"), text("title"))
}

/// In the end, a post of each remaining item succeeds.
async fn end(story: &mut Story) {
    let items: Vec<usize> = story.states.keys().copied().collect();
    for item in items {
        story.step((Step::Post(Post { item, hours_ago: Some(48) }), None)).await;
    }
    story.step((Step::Migrate, None)).await;
    story.check(5).await;
}

fn tell(settings: &[(&str, &str)], steps: Vec<(Step, Option<usize>)>) {
    Runtime::new().unwrap().block_on(async {
        let mut story = Story::begin(settings).await;
        for (n, step) in steps.into_iter().enumerate() {
            story.step(step).await;
            story.check(u32::try_from(n % 4).unwrap() + 1).await;
        }
        end(&mut story).await;
    });
}

/// A few in each run of the suite; `PROPTEST_CASES` for more.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(4)
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 60, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn every_stored_item_is_in_every_window_that_covers_it_once(steps in steps()) {
        tell(HYBRID, steps);
    }

    #[test]
    fn the_same_holds_with_months_that_all_providers_share(steps in steps()) {
        tell(MONTHLY, steps);
    }
}
