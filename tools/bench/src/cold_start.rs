//! The time from the start of the process to its first answers, and its memory then.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::ensure;
use tributary_local::client::Call;
use tributary_local::host::BuiltApp;

use crate::{
    handler::MeasuredHandler,
    machine,
    report::{Sorted, Table, mebibytes, milliseconds},
    world::BenchWorld,
};

#[derive(Debug, clap::Args)]
pub(crate) struct ColdStartOptions {
    /// The number of starts of each build for each of the requests.
    #[arg(long, value_name = "N", default_value_t = 100)]
    starts: usize,
}

/// The first request of the API: a point read, and a query of a page of 100 items.
const FIRST_REQUESTS: [(&str, &str); 2] = [("Q2", "/api/posts/p0"), ("Q6", "/api/feed")];

struct Start {
    ready: Duration,
    answered: Duration,
    memory: usize,
}

pub(crate) async fn run(options: &ColdStartOptions) -> anyhow::Result<()> {
    ensure!(options.starts > 0, "--starts must be at least 1");
    let world = BenchWorld::with_blog().await?;
    let builds = builds(&world.app);
    let cases = builds.iter().flat_map(|build| FIRST_REQUESTS.map(|first| (build, first)));
    let mut cases: Vec<_> = cases.map(|case| (case, Vec::new())).collect();
    // In turns, so that a disturbance of the machine hits all cases.
    for number in 0..=options.starts {
        for ((build, (_, path)), starts) in &mut cases {
            let start = start(&world.app, build, path).await?;
            // The first start loads the executable from the disk.
            if number > 0 {
                starts.push(start);
            }
        }
    }
    println!("{} starts each; {}\n", options.starts, machine::line());
    let mut table = Table::new(
        "build, first request | `GET /` p50, ms | p99 | first request p50, ms | p99 | RSS, MiB",
    );
    for ((build, (name, _)), starts) in &cases {
        let times = |of: fn(&Start) -> Duration| {
            let sorted = Sorted::new(starts.iter().map(of));
            [sorted.percentile(50), sorted.percentile(99)].map(milliseconds)
        };
        let memory = starts.iter().map(|start| start.memory).max().unwrap_or_default();
        let mut row = vec![format!("{}, {name}", name_of(build))];
        row.extend(times(|start| start.ready));
        row.extend(times(|start| start.answered));
        row.push(mebibytes(memory));
        table.row(row);
    }
    println!("{table}");
    Ok(())
}

fn builds(app: &BuiltApp) -> Vec<PathBuf> {
    let beside = app.executable();
    let deployed = app.folder.join("../deployed").join(&app.functions.host().executable);
    [beside, deployed].into_iter().filter(|path| path.exists()).collect()
}

fn name_of(build: &Path) -> String {
    let folder = build.parent().and_then(Path::file_name).unwrap_or_default();
    folder.to_string_lossy().into_owned()
}

async fn start(app: &BuiltApp, build: &Path, path: &str) -> anyhow::Result<Start> {
    let begin = Instant::now();
    let mut handler = MeasuredHandler::start(app, build)?;
    handler.ready().await?;
    let ready = begin.elapsed();
    let reply = handler.connection.send(&Call::get(path), "first").await?;
    let answered = begin.elapsed();
    ensure!(reply.status.is_success(), "{path} was answered {}", reply.status);
    let memory = handler.process.memory()?;
    handler.stop().await?;
    Ok(Start { ready, answered, memory })
}
