//! Figures: `cargo test --release -p tributary-cosmos-store --lib measure -- --ignored --nocapture`.

use std::time::Instant;

use serde_json::json;

use super::{Folder, World, parsed, put, run, value};
use crate::engine::{Engine, EpkRange, IndexRange, Operation};

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default()
        * 1024
}

/// Writes items of 1 KB with this number of requests at a time.
fn fill(world: &World, ids: std::ops::Range<u32>, at_once: usize) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let ids: Vec<_> = ids.collect();
    let tasks: Vec<_> = (0..at_once)
        .map(|task| {
            let (engine, container) = (world.engine.clone(), world.container);
            let ids: Vec<_> = ids.iter().copied().skip(task).step_by(at_once).collect();
            runtime.spawn(async move {
                for id in ids {
                    let item = json!({"id": id.to_string(), "pk": id % 50_000, "n": id % 1000, "text": "x".repeat(950)});
                    let operations = vec![put(Operation::Upsert, &item)];
                    let done = engine.transact(container, None, operations).await.unwrap();
                    assert!(done.results[0].is_ok());
                }
            })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
}

fn figures(world: &World, items: u32) {
    let view = world.view();
    let begin = Instant::now();
    let reads = 100_000_u32.min(items * 10);
    for n in 0..reads {
        let id = n.wrapping_mul(7919) % items;
        let key = parsed(json!([id % 50_000]));
        assert!(view.read(world.container, &key, &id.to_string()).unwrap().is_some());
    }
    println!("{items} items: {:?} a point read", begin.elapsed() / reads);
    let begin = Instant::now();
    let found = view.scan(world.container, &EpkRange::all(), None).count();
    println!(
        "{items} items: {:?} an item of a scan",
        begin.elapsed() / u32::try_from(found).unwrap()
    );
    let partition = &view.partitions(world.container)[0];
    let begin = Instant::now();
    for _ in 0..1000 {
        let changes =
            view.changes(world.container, partition.id, &partition.range, partition.lsn - 10, 100);
        assert_eq!(changes.items.len(), 10);
    }
    println!("{items} items: {:?} a poll with 10 changes", begin.elapsed() / 1000);
}

#[test]
#[ignore = "takes minutes; the figures are of a release build"]
fn measure() {
    let world = World::new(json!({}));
    let begin = resident_bytes();
    fill(&world, 0..1000, 64);
    figures(&world, 1000);
    let filling = Instant::now();
    fill(&world, 1000..1_000_000, 64);
    println!("{:.0} creations a second, 64 at once", 999_000.0 / filling.elapsed().as_secs_f64());
    println!("{} MB for 1,000,000 items of 1 KB", (resident_bytes() - begin) / 1_000_000);
    figures(&world, 1_000_000);
    let updating = Instant::now();
    fill(&world, 0..100_000, 64);
    println!(
        "{:.0} replacements a second, 64 at once",
        100_000.0 / updating.elapsed().as_secs_f64()
    );
    let updating = Instant::now();
    fill(&world, 0..20_000, 1);
    println!("{:?} a replacement, one at a time", updating.elapsed() / 20_000);
    let building = Instant::now();
    let paths = [vec!["n".to_owned()]];
    run(world.engine.build_index(world.container, &paths, false));
    println!("{:?} to build an index of 1,000,000 items", building.elapsed());
    let equal = IndexRange {
        paths: paths.to_vec(),
        equal: vec![Some(parsed(json!(7)))],
        from: None,
        until: None,
        reverse: false,
        at: None,
    };
    let looking = Instant::now();
    let found: Vec<_> =
        world.view().lookup(world.container, &EpkRange::all(), &equal).unwrap().collect();
    println!("{:?} to find {} items by an index", looking.elapsed(), found.len());
    assert!(found.iter().all(|item| value(item)["n"] == 7));
    println!("{} MB with it", (resident_bytes() - begin) / 1_000_000);
    let updating = Instant::now();
    fill(&world, 0..100_000, 64);
    println!(
        "{:.0} replacements a second with the index",
        100_000.0 / updating.elapsed().as_secs_f64()
    );

    let folder = Folder::new();
    let world = World::of(Engine::open(Some(folder.path())).unwrap(), json!({}));
    let filling = Instant::now();
    fill(&world, 0..20_000, 64);
    println!(
        "{:.0} creations a second on disk, 64 at once",
        20_000.0 / filling.elapsed().as_secs_f64()
    );
    drop(world);
    let opening = Instant::now();
    Engine::open(Some(folder.path())).unwrap();
    println!("{:?} to open 20,000 items", opening.elapsed());
}
