//! A process that is killed while it writes.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use super::{Folder, World, put};
use crate::engine::{Engine, EpkRange, Mode, Name};

const FOLDER: &str = "COSMOS_STORE_CRASH_FOLDER";
const CHILD: &str = "engine::tests::crash::writes_until_it_is_killed";
const WRITERS: u64 = 4;

fn pair(writer: u64, n: u64) -> Vec<Value> {
    let item = |id: String| json!({"id": id, "pk": writer, "n": n});
    vec![item("first".to_owned()), item("second".to_owned()), item(format!("n{n}"))]
}

/// Is what the other test starts.
#[test]
fn writes_until_it_is_killed() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let engine = Engine::open(Some(folder.as_ref())).unwrap();
    let container = match engine.view().container(Name::Id("d"), Name::Id("c")) {
        Some((container, _)) => container,
        None => World::of(engine.clone(), json!({})).container,
    };
    let world = &World { engine, container };
    let write = |writer: u64| {
        let key = json!([writer]);
        let last = world.read(&key, "first").map(|item| item["n"].as_u64().unwrap());
        for n in last.map_or(0, |last| last + 1).. {
            let items = pair(writer, n).iter().map(|item| put(Mode::Upsert, item)).collect();
            let committed = world.transact(&key, items).unwrap();
            assert!(committed.results.iter().all(Result::is_ok));
            println!("\nanswered {writer} {n}");
        }
    };
    std::thread::scope(|scope| {
        (0..WRITERS).for_each(|writer| _ = scope.spawn(move || write(writer)));
    });
}

#[test]
fn what_was_answered_is_there_after_a_kill() {
    let folder = Folder::new();
    let mut answered = BTreeMap::new();
    for _ in 0..20 {
        // At any moment of a commit, which takes some milliseconds, or of the opening of the file.
        let [answers, wait, ..] = *uuid::Uuid::new_v4().as_bytes();
        let wait = Duration::from_micros(u64::from(wait) * 20);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([CHILD, "--exact", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut note = |line: &str| {
            let mut words =
                line.strip_prefix("answered ")?.split(' ').map(|word| word.parse::<u64>().unwrap());
            answered.insert(words.next()?, words.next()?)
        };
        let mut seen = 0;
        while seen < answers % 16 {
            let line = lines.next().unwrap().unwrap();
            note(&line);
            seen += u8::from(line.starts_with("answered"));
        }
        std::thread::sleep(wait);
        child.kill().unwrap();
        child.wait().unwrap();
        // The last line may be half a line.
        let rest: Vec<_> = lines.map_while(Result::ok).collect();
        rest.iter().rev().skip(1).rev().for_each(|line| _ = note(line));

        let engine = Engine::open(Some(folder.path())).unwrap();
        let Some((container, _)) = engine.view().container(Name::Id("d"), Name::Id("c")) else {
            assert!(answered.is_empty());
            continue;
        };
        let world = World { engine, container };
        let mut items = 0;
        for (writer, n) in &answered {
            let key = json!([writer]);
            let read = |id: &str| world.read(&key, id).and_then(|item| item["n"].as_u64());
            let last = read("first").unwrap();
            assert!(last >= *n, "{n} was answered, {last} is there");
            assert_eq!(read("second"), Some(last), "a transaction is whole");
            (0..=last).for_each(|n| assert_eq!(read(&format!("n{n}")), Some(n)));
            items += last + 3;
        }
        let all = world.scan(&EpkRange::all());
        assert!(all.len() as u64 >= items);
        let changes = world.view().changes(container, 0, &EpkRange::all(), 0, usize::MAX);
        assert_eq!(changes.items.len(), all.len());
    }
}

#[test]
fn a_folder_has_one_process_and_nothing_else_is_overwritten() {
    let folder = Folder::new();
    let engine = Engine::open(Some(folder.path())).unwrap();
    let error = Engine::open(Some(folder.path())).unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    drop(engine);
    Engine::open(Some(folder.path())).unwrap();
    std::fs::write(folder.path().join("store.redb"), "something else").unwrap();
    Engine::open(Some(folder.path())).unwrap_err();
    assert_eq!(std::fs::read(folder.path().join("store.redb")).unwrap(), b"something else");
}
