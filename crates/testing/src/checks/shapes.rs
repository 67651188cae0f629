//! The shapes of stored items: a sample of each type of each released version is in the tree, and today's code
//! reads them all.
//!
//! | folder | samples |
//! | --- | --- |
//! | `<version>/` | the items that a story has stored with this released version; never changed again |
//! | `next/` | the items that the same story stores with today's code |
//!
//! A folder has a file for each container, `<container>.jsonl`, with one item a line. A release copies `next`
//! to a folder of its version.
//!
//! ```
//! use tributary_testing::{AppUnderTest, World, checks::shapes::StoredShapes};
//!
//! async fn stored_shapes_change_with_a_sample<A: AppUnderTest>(world: &World<A>) {
//!     // The story before this line has stored an item of each type.
//!     StoredShapes::in_folder::<A>("tests/shapes").hold(world).await;
//! }
//!
//! async fn every_shape_is_read<A: AppUnderTest>() {
//!     StoredShapes::in_folder::<A>("tests/shapes")
//!         .are_read(async |world: &World<A>| drop(world.get("/api/rooms/r1").await.expect(200)))
//!         .await;
//! }
//! ```

mod shape;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tracing::{Event, Level, Subscriber, subscriber};
use tracing_subscriber::{
    layer::{Context, Layer, SubscriberExt},
    registry,
};
use tributary_functions::audit::FindingKind;

use self::shape::differences;
use super::containers;
use crate::{AppUnderTest, World};

const UPDATE: &str = "UPDATE_SHAPES";

const NEXT: &str = "next";

const LEASES: &str = "leases";

/// The most items of a container in the samples: a story is short.
const MAX_SAMPLES: usize = 200;

type Samples = BTreeMap<String, Vec<Value>>;

/// The folder with the samples of an app.
#[derive(Debug)]
pub struct StoredShapes {
    folder: PathBuf,
}

impl StoredShapes {
    /// Returns the samples in a folder, whose path begins in [`AppUnderTest::ROOT`].
    pub fn in_folder<A: AppUnderTest>(folder: &str) -> Self {
        Self { folder: Path::new(A::ROOT).join(folder) }
    }

    /// Holds the items that a story has left in a world against the samples of today's code. With
    /// `UPDATE_SHAPES=1` in the environment, samples of another shape are written anew.
    ///
    /// Items are of one type if they are in one container and have the same `type` and `state`. Their shape is the
    /// set of their properties, also of inner objects, with the JSON types.
    ///
    /// # Panics
    ///
    /// When an item has a property that no sample of its type has, or lacks one that all have; when a sample has
    /// a property that no item of the story has; and when the story stores no item of a type of the samples.
    pub async fn hold<A: AppUnderTest>(&self, world: &World<A>) {
        let stored = stored_items(world).await;
        let faults = differences(&self.read(NEXT), &stored);
        if !faults.is_empty() && env::var_os(UPDATE).is_some_and(|update| update == "1") {
            return self.write(&stored);
        }
        assert!(
            faults.is_empty(),
            "\n\n{}\nA shape of stored items has changed. Check that a reader takes the older items, then \
             write new samples: run this test with {UPDATE}=1.\n",
            faults.join("\n")
        );
    }

    /// Has today's code read the samples of each version, in a world of its own for each: the operator's
    /// functions, all projections through their triggers, all audits, and the reads of the app, `readers`.
    ///
    /// # Panics
    ///
    /// When a projection stores a dead letter, an audit finds an unreadable item, the app writes a line of level
    /// ERROR, or a reader panics.
    pub async fn are_read<A: AppUnderTest>(&self, readers: impl AsyncFn(&World<A>)) {
        for version in self.released().iter().map(String::as_str).chain([NEXT]) {
            println!("Stored shapes of {version}");
            let lines = Arc::new(Mutex::new(Vec::new()));
            let log = registry().with(ErrorLines(Arc::clone(&lines)));
            let _this_thread = subscriber::set_default(log);
            let world = World::<A>::new().await;
            for (container, items) in self.read(version) {
                for item in items {
                    world.write_item(&container, &item).await;
                }
            }
            operators_read(&world).await;
            readers(&world).await;
            projections_read(&world).await;
            audits_read(&world).await;
            readers(&world).await;
            let lines = lines.lock().unwrap();
            assert_eq!(*lines, [""; 0], "lines of level ERROR over samples of {version}");
        }
    }

    /// Returns the released versions, the oldest first.
    pub fn released(&self) -> Vec<String> {
        let number = |part: &str| part.parse::<u64>().unwrap_or_default();
        let folders = fs::read_dir(&self.folder).into_iter().flatten();
        let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut versions: Vec<String> = names.filter(|name| name != NEXT).collect();
        versions.sort_by_key(|version| version.split(['.', '-']).map(number).collect::<Vec<_>>());
        versions
    }

    fn read(&self, version: &str) -> Samples {
        let files = fs::read_dir(self.folder.join(version)).into_iter().flatten();
        let file = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            let container = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let items = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            (container, items)
        };
        files.map(file).collect()
    }

    fn write(&self, samples: &Samples) {
        let folder = self.folder.join(NEXT);
        if folder.exists() {
            fs::remove_dir_all(&folder).unwrap();
        }
        fs::create_dir_all(&folder).unwrap();
        for (container, items) in samples {
            let lines: Vec<String> = items.iter().map(Value::to_string).collect();
            let file = folder.join(format!("{container}.jsonl"));
            fs::write(file, lines.join("\n") + "\n").unwrap();
        }
    }
}

struct ErrorLines(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for ErrorLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == Level::ERROR {
            self.0.lock().unwrap().push(format!("{event:?}"));
        }
    }
}

/// Returns the items of all containers with items, without the properties of the store itself.
async fn stored_items<A: AppUnderTest>(world: &World<A>) -> Samples {
    let mut stored = Samples::new();
    for container in containers::<A>().into_iter().filter(|container| container != LEASES) {
        let mut items = world.items(&container).await;
        let n = items.len();
        assert!(n <= MAX_SAMPLES, "a shorter story: {container} has {n} items");
        for item in &mut items {
            item.as_object_mut().unwrap().retain(|name, _| !name.starts_with('_'));
        }
        if !items.is_empty() {
            stored.insert(container, items);
        }
    }
    stored
}

/// Reads what operators read, and resumes each projection that a sample has paused.
async fn operators_read<A: AppUnderTest>(world: &World<A>) {
    for letter in world.list("/api/dead-letters").await {
        let id = letter["id"].as_str().unwrap();
        world.get(&format!("/api/dead-letters/{id}")).await.expect(200);
    }
    let projections = world.get("/api/projections").await.expect(200).json();
    for projection in projections["items"].as_array().unwrap() {
        let name = projection["name"].as_str().unwrap();
        let stored = world.item("projections", name).await;
        assert_eq!(projection["pause"]["since"], stored["pause"]["since"], "{projection}");
        assert_eq!(projection["rebuild"].is_null(), stored["rebuild"].is_null(), "{projection}");
        world.post(&format!("/api/projections/{name}/resume"), json!({})).await.expect(200);
    }
}

async fn projections_read<A: AppUnderTest>(world: &World<A>) {
    let known = world.items("dead-letters").await;
    world.settle().await;
    let mut new = world.items("dead-letters").await;
    new.retain(|letter| known.iter().all(|known| known["id"] != letter["id"]));
    assert!(new.is_empty(), "a projection cannot read a sample: {new:#?}");
}

async fn audits_read<A: AppUnderTest>(world: &World<A>) {
    let mut findings = world.audit(false).await;
    findings.retain(|finding| finding.starts_with(&FindingKind::UNREADABLE.to_string()));
    assert_eq!(findings, [""; 0], "an audit cannot read these samples");
}
