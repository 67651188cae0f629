//! A newer version of the app beside today's: it stores properties that today's code does not know.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use axum::{
    extract::Request,
    middleware::{Next, from_fn},
};
use azure_data_cosmos::options::{ItemWriteOptions, Precondition};
use serde_json::{Map, Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::{LEASES, containers, shape::kind};
use crate::{AppUnderTest, World};

const NEWER: &str = "ofNewerVersion";

/// A newer version of the app, which runs beside today's as in a rolling deployment. After each request and each
/// batch of changes that today's code has handled, it adds a property to each item, and to each inner object with
/// an `id`.
///
/// ```
/// use tributary_testing::{AppUnderTest, World, checks::shapes::NewerVersion};
///
/// async fn no_property_of_a_newer_version_is_lost<A: AppUnderTest>(world: &World<A>) {
///     let newer = NewerVersion::of(world);
///     let world = newer.beside(world);
///     // The story of the app goes here.
///     world.settle().await;
///     assert_eq!(newer.lost(), [""; 0]);
/// }
/// ```
pub struct NewerVersion<A> {
    past: World<A>,
    moves: Vec<&'static [&'static str]>,
    seen: Arc<AsyncMutex<Seen>>,
    lost: Arc<Mutex<Vec<String>>>,
}

/// The items that the newer version has seen, by the id that the store gives to each new item.
type Seen = HashMap<String, Item>;

#[derive(Debug, Clone)]
struct Item {
    container: String,
    stored: Value,
}

impl<A> Clone for NewerVersion<A> {
    fn clone(&self) -> Self {
        let Self { past, moves, seen, lost } = self;
        let (seen, lost) = (Arc::clone(seen), Arc::clone(lost));
        Self { past: past.clone(), moves: moves.clone(), seen, lost }
    }
}

impl<A: AppUnderTest> NewerVersion<A> {
    /// Creates the newer version on the account of a world.
    pub fn of(world: &World<A>) -> Self {
        Self { past: world.clone(), moves: Vec::new(), seen: Arc::default(), lost: Arc::default() }
    }

    /// Says that items move between logical partitions of these containers: an item of which another partition
    /// has had the `id` and the `type` keeps its properties.
    pub fn moved_within(mut self, containers: &'static [&'static str]) -> Self {
        self.moves.push(containers);
        self
    }

    /// Returns the same world, whose requests and batches are followed by the newer version.
    pub fn beside(&self, world: &World<A>) -> World<A> {
        let newer = self.clone();
        let follow = move |request: Request, next: Next| {
            let newer = newer.clone();
            async move {
                let answer = next.run(request).await;
                newer.follow().await;
                answer
            }
        };
        let mut world = world.clone();
        world.router = world.router.layer(from_fn(follow));
        world
    }

    /// Returns a sentence for each item that has lost a property. An item that was replaced by one of another
    /// type, or by a tombstone, may lose it.
    pub fn lost(&self) -> Vec<String> {
        self.lost.lock().unwrap().clone()
    }

    async fn follow(&self) {
        let mut seen = self.seen.lock().await;
        let items = items(&self.past).await;
        let lost: Vec<_> = items.iter().filter_map(|item| self.find_lost(&seen, item)).collect();
        self.lost.lock().unwrap().extend(lost);
        seen.clear();
        for item in items {
            if let Some(item) = self.add(item).await {
                seen.insert(item.rid().to_owned(), item);
            }
        }
    }

    fn find_lost(&self, seen: &Seen, now: &Item) -> Option<String> {
        let moves = |containers: &&&[&str]| containers.contains(&now.container.as_str());
        let before =
            seen.get(now.rid()).filter(|before| before.is_of_type_of(now)).or_else(|| {
                let containers = self.moves.iter().find(moves)?;
                seen.values().find(|before| {
                    let is_there = containers.contains(&before.container.as_str());
                    is_there && !seen.contains_key(now.rid()) && now.has_come_from(before)
                })
            })?;
        let labels = before.labels();
        let is_lost = |path: &String| labels.get(path) == Some(&true);
        let lost = now.labels().into_iter().find(|(path, labelled)| !labelled && is_lost(path))?;
        Some(format!(
            "an item of {} has lost a property in `{}`: {} is now {}",
            now.container, lost.0, before.stored, now.stored
        ))
    }

    /// Adds the property to an item that lacks it; `None` if the item changes meanwhile.
    async fn add(&self, mut item: Item) -> Option<Item> {
        if item.labels().values().all(|labelled| *labelled) {
            return Some(item);
        }
        let Item { container, stored } = &mut item;
        each_with_id("", stored, &mut |_, members| {
            members.insert(NEWER.into(), json!({"of": "a newer version"}));
        });
        let unchanged = Precondition::if_match(stored["_etag"].as_str()?.to_owned());
        let options = ItemWriteOptions::default().with_precondition(unchanged);
        let partition = self.past.partition_of(container, stored).await;
        let id = stored["id"].as_str()?;
        let client = self.past.container(container).await;
        client.replace_item(partition, id, &*stored, Some(options)).await.ok()?;
        Some(item)
    }
}

impl Item {
    fn rid(&self) -> &str {
        self.stored["_rid"].as_str().unwrap()
    }

    fn is_of_type_of(&self, other: &Self) -> bool {
        kind(&self.stored) == kind(&other.stored) && self.is_tombstone() == other.is_tombstone()
    }

    fn has_come_from(&self, before: &Self) -> bool {
        let is_same = |name: &str| self.stored[name] == before.stored[name];
        is_same("id") && is_same("type") && self.is_tombstone() == before.is_tombstone()
    }

    fn is_tombstone(&self) -> bool {
        self.stored["ttl"].as_i64().is_some_and(|ttl| ttl > 0)
    }

    /// Returns the item and its inner objects with an `id`, by their paths, and true for each that has the
    /// property.
    fn labels(&self) -> BTreeMap<String, bool> {
        let mut found = BTreeMap::new();
        each_with_id("", &mut self.stored.clone(), &mut |path, members| {
            found.insert(path.to_owned(), members.contains_key(NEWER));
        });
        found
    }
}

async fn items<A: AppUnderTest>(world: &World<A>) -> Vec<Item> {
    let mut all = Vec::new();
    for container in containers::<A>().into_iter().filter(|container| container != LEASES) {
        let items = world.items(&container).await;
        all.extend(items.into_iter().map(|stored| Item { container: container.clone(), stored }));
    }
    all
}

/// Calls `visit` with an item and with its inner objects with an `id`, each with its path.
fn each_with_id(
    path: &str,
    value: &mut Value,
    visit: &mut impl FnMut(&str, &mut Map<String, Value>),
) {
    match value {
        Value::Object(members) => {
            let mut path = path.to_owned();
            if let Some(id) = members.get("id") {
                path = format!("{path}[{id}]");
                visit(&path, members);
            }
            for (name, inner) in members {
                each_with_id(&format!("{path}.{name}"), inner, visit);
            }
        }
        Value::Array(elements) => {
            for inner in elements {
                each_with_id(path, inner, visit);
            }
        }
        _ => {}
    }
}
