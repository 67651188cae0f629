//! The whole way of a changed shape under live commands, chaos of all kinds, and kills of the handler and of the
//! removal: readers miss no copy.
//!
//! `TRIBUTARY_SEED=7` chooses another run, and `TRIBUTARY_SWITCH_SOURCES=5000` the number of notes
//! (docs/chaos.md).

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tributary_functions::{
    app::{AppOptions, MAINTENANCE},
    audit::AuditOptions,
    projection::{ProjectionOptions, succession::SwitchTimes},
    values::Timestamp,
};
use tributary_local::{
    chaos::{Chaos, Random},
    cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions},
    host::{Console, FeedOptions, RouterInvoker, repeating},
};
use tributary_testing::{Answer, AppUnderTest};

use super::{NEW, Notes, OLD, World};

const CHAOS: &str = "duplicates=0.3,reorder=0.3,overlap=0.3,crash=0.3,throttle=0.05,\
                     lost-answer=0.05,stale=0.3,repeat=0.2,split=2";

/// The probability that the handler of a request is killed, and the longest time until then.
const KILL: f64 = 0.2;
const KILL_WITHIN_US: u64 = 5_000;

/// The most that a read is behind: the maximum of `stale`, and a second on a busy machine.
const BEHIND: Duration = Duration::from_secs(3);

/// The owners at least: those of the notes that are created and deleted.
const OWNERS: usize = 10;

/// The notes of an owner at most, which stay. The local store copies the notes of a partition for each page.
const NOTES_OF_OWNER: usize = 200;

const TIMES: &SwitchTimes = &SwitchTimes {
    known_for: Duration::from_millis(200),
    trusted_for: Duration::from_secs(10),
    lead: Duration::from_millis(1_500),
    removal_delay: Duration::from_secs(2),
};

/// The app under chaos: two instances, and what its clients have seen.
struct Story {
    instances: [World; 2],
    sources: usize,
    asked: AtomicUsize,
    kills: Mutex<Random>,
    is_quiet: AtomicBool,
    lists: AtomicUsize,
    lists_of_new: AtomicUsize,
    begun_again: AtomicUsize,
    commands: AtomicUsize,
}

impl Story {
    fn owners(&self) -> usize {
        (self.sources / NOTES_OF_OWNER).max(OWNERS)
    }

    /// The longest time of a rebuild or of a removal on a slow core.
    fn longest(&self) -> Duration {
        Duration::from_mins(20) + Duration::from_millis(100 * self.sources as u64)
    }

    /// Sends a request until it is answered by something else than that the store cannot: to the instances in
    /// turns, some of which are killed meanwhile.
    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        loop {
            let instance = &self.instances[self.asked.fetch_add(1, Relaxed) % 2];
            let killed = {
                let mut kills = self.kills.lock().unwrap();
                let is_killed = kills.chance(KILL) && !self.is_quiet.load(Relaxed);
                is_killed.then(|| Duration::from_micros(kills.below(KILL_WITHIN_US)))
            };
            let answer = tokio::select! {
                answer = instance.call(method, path, &[], body.clone()) => answer,
                () = tokio::time::sleep(killed.unwrap_or(Duration::from_mins(10))) => continue,
            };
            if !matches!(answer.status.as_u16(), 429 | 503) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn put(&self, id: &str, owner: usize, title: &str) {
        let body = json!({"ownerId": format!("o{owner}"), "title": title});
        let answer = self.send("PUT", &format!("/api/notes/{id}"), Some(body)).await;
        assert!(matches!(answer.status.as_u16(), 200 | 201), "{}", answer.text);
    }

    /// Edits stable notes, and creates and deletes others, until it is stopped.
    async fn write(&self, writer: u64, stop: &CancellationToken) {
        let mut random = Random::stream(seed(), 100 + writer);
        let mut n = 0;
        while !stop.is_cancelled() {
            n += 1;
            match random.below(10) {
                0..6 => {
                    let id = random.index(self.sources);
                    self.put(
                        &format!("s{id}"),
                        id % self.owners(),
                        &format!("Edit {n} of {writer}"),
                    )
                    .await;
                }
                6..8 => self.put(&format!("w{writer}-{}", n % 40), owner_of(n), "Live").await,
                _ => {
                    let path = format!("/api/notes/w{writer}-{}", random.below(40));
                    assert_eq!(self.send("DELETE", &path, None).await.status, 204);
                }
            }
            self.commands.fetch_add(1, Relaxed);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Lists the notes of owners, until it is stopped. Each list has every stable note.
    async fn read(&self, reader: u64, stop: &CancellationToken) {
        let mut random = Random::stream(seed(), 200 + reader);
        while !stop.is_cancelled() {
            let owner = random.index(self.owners());
            let limit = 2 + random.below(18);
            let Some((shape, seen)) = self.list(owner, limit).await else {
                self.begun_again.fetch_add(1, Relaxed);
                continue;
            };
            let stable = (0..self.sources).filter(|id| id % self.owners() == owner);
            let missing: Vec<_> = stable.filter(|id| !seen.contains(&format!("s{id}"))).collect();
            assert!(missing.is_empty(), "{shape:?}: no copies of {missing:?}, {}", again());
            assert!(shape.len() <= 1, "a list of two shapes: {shape:?}, {}", again());
            self.lists.fetch_add(1, Relaxed);
            self.lists_of_new.fetch_add(usize::from(shape.contains("new")), Relaxed);
        }
    }

    /// Reads all pages of a list; `None` if it has to begin again.
    async fn list(&self, owner: usize, limit: u64) -> Option<(BTreeSet<String>, BTreeSet<String>)> {
        let mut shapes = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/api/owners/o{owner}/notes?limit={limit}{cursor}");
            let answer = self.send("GET", &path, None).await;
            if answer.status == 400 {
                assert!(answer.text.contains("Begin again without it"), "{}", answer.text);
                return None;
            }
            let page = answer.expect(200).json();
            for item in page["items"].as_array().unwrap() {
                seen.insert(item["id"].as_str().unwrap().to_owned());
                shapes.insert(item["shape"].as_str().unwrap().to_owned());
            }
            match page["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Some((shapes, seen)),
            }
        }
    }

    async fn status(&self, name: &str) -> Value {
        self.send("GET", &format!("/api/projections/{name}"), None).await.expect(200).json()
    }

    /// Sends a command of an operator until it is accepted.
    async fn operate(&self, name: &str, command: &str) -> Value {
        let began = Instant::now();
        loop {
            let path = format!("/api/projections/{name}/{command}");
            let body = (command == "rebuild").then(|| json!({}));
            let answer = self.send("POST", &path, body).await;
            if answer.status == 200 {
                return answer.json();
            }
            assert_eq!(answer.status, 409, "{}", answer.text);
            assert!(began.elapsed() < Duration::from_mins(2), "{command}: {}", answer.text);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Switches readers, and lets them read for some time.
    async fn switch(&self, command: &str) {
        let view = self.operate(OLD, command).await;
        let at = Timestamp::parse(view["succession"]["switchedAt"].as_str().unwrap()).unwrap();
        while Timestamp::now() < at.after(Duration::from_millis(700)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Runs the timer in an instance of its own, which may be killed.
    async fn tick(&self, killed_after: Option<Duration>) {
        let worker = instance(&self.instances[0]).await;
        let killed_after = killed_after.unwrap_or(Duration::from_mins(10));
        // A run that fails under chaos is followed by another.
        drop(tokio::time::timeout(killed_after, worker.tick(MAINTENANCE)).await);
    }

    /// Rebuilds the successor until its audit is clean.
    async fn rebuild(&self) {
        let mut is_clean = false;
        while !is_clean {
            self.operate(NEW, "rebuild").await;
            let began = Instant::now();
            let mut rebuild = Value::Null;
            while rebuild["step"] != "done" {
                assert!(began.elapsed() < self.longest(), "{rebuild}");
                self.tick(None).await;
                rebuild = self.status(NEW).await["rebuild"].clone();
            }
            report("rebuilt", began, &rebuild["progress"]);
            is_clean = rebuild["progress"]["findings"] == rebuild["progress"]["repaired"];
        }
    }

    /// Removes the old copies by workers that are killed.
    async fn remove(&self) {
        let began = Instant::now();
        let mut most = 0;
        // Some workers come far in any number of notes.
        let longest_life = 3_000 + self.sources as u64 / 2;
        loop {
            let killed_after = self.kills.lock().unwrap().below(longest_life);
            self.tick(Some(Duration::from_millis(killed_after))).await;
            most = most.max(resident_mb());
            let removal = self.status(OLD).await["succession"]["removal"].clone();
            if removal["endedAt"].is_string() {
                println!("at most {most} MB while copies were removed");
                return report("removed", began, &removal["progress"]);
            }
            assert!(began.elapsed() < self.longest(), "{removal}");
        }
    }
}

fn owner_of(n: usize) -> usize {
    // A note keeps its owner.
    n % 40 % OWNERS
}

fn seed() -> u64 {
    std::env::var("TRIBUTARY_SEED").map_or(1, |seed| seed.parse().unwrap())
}

fn again() -> String {
    format!("TRIBUTARY_SEED={} cargo test -p tributary-testing --test it notes::chaos", seed())
}

fn report(what: &str, began: Instant, progress: &Value) {
    println!(
        "{what} in {:.1} s with {} MB: {progress}",
        began.elapsed().as_secs_f64(),
        resident_mb()
    );
}

/// Returns the memory of this process, in which the store is, too.
fn resident_mb() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    resident.unwrap_or_default() * 4 / 1_024
}

async fn instance(world: &World) -> World {
    let state_max_age = Duration::from_millis(200);
    let projections =
        ProjectionOptions { state_max_age, switch: TIMES, ..ProjectionOptions::default() };
    world.with_app(AppOptions { projections, ..World::options() }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_miss_no_copy_while_a_shape_is_changed_under_chaos() {
    let sources = std::env::var("TRIBUTARY_SWITCH_SOURCES").map_or(80, |n| n.parse().unwrap());
    let chaos = Chaos::new(CHAOS.parse().unwrap(), seed());
    let options = EndpointOptions {
        chaos: Some(chaos.clone()),
        expiry_interval: None,
        ..EndpointOptions::default()
    };
    let endpoint = CosmosEndpoint::in_process(options).unwrap();
    let containers = std::path::Path::new(Notes::ROOT).join("infra/containers.json");
    let containers = ContainersFile::read(containers).unwrap();
    endpoint.provision(World::DATABASE, &containers).await.unwrap();
    let world = World::on(endpoint).await;

    let mut instances = [instance(&world).await, instance(&world).await];
    for instance in &mut instances {
        instance.router = repeating(instance.router.clone(), chaos.clone());
    }
    let triggers = instance(&world).await;
    let second = instance(&world).await;
    let deliveries = FeedOptions {
        poll_delay: Some(Duration::from_millis(20)),
        retry_scale: 0.01,
        console: Console::silent(),
        chaos: Some(chaos.clone()),
        second_invoker: Some(Arc::new(RouterInvoker(second.router.clone()))),
        ..FeedOptions::default()
    };
    let stop = CancellationToken::new();
    let mut running = JoinSet::new();
    for pump in triggers.pumps(&deliveries) {
        let stop = stop.clone();
        running.spawn(async move { pump.run(stop).await });
    }
    let story = Arc::new(Story {
        instances,
        sources,
        asked: AtomicUsize::new(0),
        kills: Mutex::new(Random::stream(seed(), 1_000)),
        is_quiet: AtomicBool::new(false),
        lists: AtomicUsize::new(0),
        lists_of_new: AtomicUsize::new(0),
        begun_again: AtomicUsize::new(0),
        commands: AtomicUsize::new(0),
    });
    let began = Instant::now();
    let seeds = (0..sources).map(|id| {
        let story = &story;
        async move { story.put(&format!("s{id}"), id % story.owners(), "Stable").await }
    });
    stream::iter(seeds).buffer_unordered(16).collect::<Vec<_>>().await;
    while story.status(OLD).await["lag"]["changes"] != 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::sleep(BEHIND).await;
    report("made", began, &json!({"notes": sources}));

    let mut clients = JoinSet::new();
    for client in 0..2 {
        let (writing, reading) = (Arc::clone(&story), Arc::clone(&story));
        let (stop, stopped) = (stop.clone(), stop.clone());
        clients.spawn(async move { writing.write(client, &stop).await });
        clients.spawn(async move { reading.read(client, &stopped).await });
    }
    let operator = async {
        story.rebuild().await;
        tokio::time::sleep(BEHIND).await;
        story.switch("switch").await;
        story.switch("switch-back").await;
        story.switch("switch").await;
        story.operate(OLD, "confirm").await;
        story.remove().await;
    };
    tokio::select! {
        () = operator => {}
        Some(client) = clients.join_next() => client.unwrap(),
    }
    stop.cancel();
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    chaos.stop();
    story.is_quiet.store(true, Relaxed);
    while running.join_next().await.is_some() {}
    world.settle().await;
    // A batch that was under way at the confirmation may have come late.
    story.tick(None).await;
    println!(
        "{} lists, {} of them of the successor, {} begun again; {} commands; {:?}",
        story.lists.load(Relaxed),
        story.lists_of_new.load(Relaxed),
        story.begun_again.load(Relaxed),
        story.commands.load(Relaxed),
        chaos.injected(),
    );
    assert!(story.lists_of_new.load(Relaxed) > 0, "no reader was switched, {}", again());
    ended_right(&world).await;
}

/// The new copies are those of the notes, no old copy is left, and the audit finds nothing.
async fn ended_right(world: &World) {
    assert!(world.items("notes-of-owners").await.is_empty(), "old copies are left, {}", again());
    let letters = world.items("dead-letters").await;
    assert!(letters.is_empty(), "{letters:#?}, {}", again());
    let key = |item: &Value, text: &str| {
        (item["id"].to_string(), item["version"].as_u64(), item[text].to_string().to_uppercase())
    };
    let live = |item: &&Value| item["type"] == "note";
    let notes = world.items("notes").await;
    let notes: BTreeSet<_> = notes.iter().filter(live).map(|note| key(note, "title")).collect();
    let copies = world.items("headings-of-owners").await;
    let copies: BTreeSet<_> = copies.iter().filter(live).map(|copy| key(copy, "heading")).collect();
    assert!(copies == notes, "{:?}, {}", copies.symmetric_difference(&notes), again());
    let app = World::app(&World::cosmos(&world.endpoint).await, World::options());
    let options = AuditOptions { settle: Duration::from_millis(200), repair: false };
    let mut findings = Vec::new();
    for (_, audit) in app.audits() {
        audit.run(options, &mut findings).await.unwrap();
    }
    assert!(findings.is_empty(), "{findings:?}, {}", again());
}
