//! Levels of optimisation for the profile `deployed`, side by side: size, start, memory, and the
//! processor time of a request.
//!
//! All builds run at the same time and get requests in turns, so that a disturbance of the machine hits
//! all of them.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use tributary_tools::{
    Call, Sorted, Table,
    figures::{each, mebibytes, milliseconds, number},
};

use crate::{
    cold_start::{Start, start},
    handler::MeasuredHandler,
    http::Connection,
    machine,
    overhead::{KINDS, RequestCase},
    world::BenchWorld,
};

/// The levels, and the size of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct ProfilesOptions {
    /// A value of `opt-level`; may be given several times.
    #[arg(long, value_name = "LEVEL", default_values = ["s", "2", "3"])]
    level: Vec<String>,

    /// The number of starts of each build.
    #[arg(long, value_name = "N", default_value_t = 40)]
    starts: usize,

    /// The number of requests of each kind to each build.
    #[arg(long, value_name = "N", default_value_t = 16_000)]
    requests: usize,
}

/// Connections at the same time.
const N_CLIENTS: usize = 16;
/// The number of turns of each build.
const N_ROUNDS: usize = 10;

/// The measured requests, of those of [`crate::overhead`].
const MEASURED_REQUESTS: [&str; 4] = ["Q1 ", "Q2 ", "Q4 ", "Q6 "];

struct Build {
    level: String,
    executable: PathBuf,
    starts: Vec<Start>,
    /// The processor time for each kind.
    cpu: [Duration; MEASURED_REQUESTS.len()],
}

pub(crate) async fn run(options: &ProfilesOptions) -> anyhow::Result<()> {
    let each_turn = options.requests / N_ROUNDS / N_CLIENTS;
    ensure!(each_turn > 0, "--requests must be at least {}", N_ROUNDS * N_CLIENTS);
    ensure!(options.starts > 0, "--starts must be at least 1");
    let builds = options.level.iter().map(|level| Build::make(level));
    let mut builds = builds.collect::<anyhow::Result<Vec<_>>>()?;
    let world = BenchWorld::with_blog().await?;
    for number in 0..=options.starts {
        for build in &mut builds {
            let start = start(&world.app, &build.executable, "/api/posts/p0").await?;
            // The first start loads the executable from the disk.
            build.starts.extend((number > 0).then_some(start));
        }
    }

    let mut handlers = Vec::new();
    for build in &builds {
        let mut handler = MeasuredHandler::start(&world.app, &build.executable, |_| ())?;
        handler.ready().await?;
        handlers.push(handler);
    }
    // The first round does not count: connections, caches and the allocator settle.
    for round in 0..=N_ROUNDS {
        eprintln!("round {round} of {N_ROUNDS}");
        for (kind, (_, call)) in kinds().enumerate() {
            for (build, handler) in builds.iter_mut().zip(&handlers) {
                let cpu = handler.process.cpu_time()?;
                ask(handler, *call, each_turn).await?;
                if round > 0 {
                    build.cpu[kind] += handler.process.cpu_time_since(cpu)?;
                }
            }
        }
    }

    let mut columns =
        vec!["opt-level", "executable, MB", "`GET /` p50, ms", "first request p50, ms"];
    columns.extend(["RSS then, MiB", "RSS at the end, MiB"]);
    columns.extend(kinds().map(|(name, _)| *name));
    let mut table = Table::new(columns);
    for (build, handler) in builds.iter().zip(handlers) {
        let memory = handler.process.memory()?.resident;
        table.row(build.row(memory, each_turn * N_CLIENTS * N_ROUNDS)?);
        handler.stop().await?;
    }
    println!(
        "{} starts, {} requests of each kind over {N_CLIENTS} connections, their processor time in µs; \
         {}\n\n{table}",
        options.starts,
        each_turn * N_CLIENTS * N_ROUNDS,
        machine::line()
    );
    Ok(())
}

fn kinds() -> impl Iterator<Item = &'static RequestCase> {
    KINDS.iter().filter(|(name, _)| MEASURED_REQUESTS.iter().any(|asked| name.starts_with(asked)))
}

impl Build {
    /// Builds the handler at this level, in a folder of its own: the level changes all crates.
    fn make(level: &str) -> anyhow::Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folder = root.join("target/profiles").join(level);
        // A number is one in TOML too; `s` and `z` need quotes.
        let value = level.parse::<u8>().map_or(format!("\"{level}\""), |number| number.to_string());
        eprintln!("Building the handler with opt-level {level}");
        let status = Command::new(option_env!("CARGO").unwrap_or("cargo"))
            .args(["build", "--profile", "deployed", "--bin", "tributary", "--config"])
            .arg(format!("profile.deployed.opt-level={value}"))
            .arg("--target-dir")
            .arg(&folder)
            .current_dir(&root)
            .status()
            .context("cargo cannot be started")?;
        ensure!(status.success(), "the handler does not build with opt-level {level}");
        let executable = folder.join("deployed/tributary");
        Ok(Self { level: level.into(), executable, starts: Vec::new(), cpu: Default::default() })
    }

    fn row(&self, memory: u64, requests: usize) -> anyhow::Result<Vec<String>> {
        let time = |of: fn(&Start) -> Duration| {
            let sorted = Sorted::from(self.starts.iter().map(of).collect::<Vec<_>>());
            milliseconds(sorted.percentile(50))
        };
        let at_start = self.starts.iter().map(|start| start.memory.resident).max();
        let size = number(usize::try_from(fs::metadata(&self.executable)?.len())?);
        let mut row = vec![
            self.level.clone(),
            format!("{:.1}", size / 1e6),
            time(|start| start.ready),
            time(|start| start.answered),
            mebibytes(at_start.unwrap_or_default()),
            mebibytes(memory),
        ];
        row.extend(self.cpu.map(|cpu| each(cpu.as_secs_f64() * 1e6, requests, 0)));
        Ok(row)
    }
}

/// Sends a number of requests over each of the connections, one after the other.
async fn ask(
    handler: &MeasuredHandler,
    call: fn(usize) -> Call,
    requests: usize,
) -> anyhow::Result<()> {
    let clients = (0..N_CLIENTS).map(async |client| {
        let connection = Connection::new(handler.address)?;
        for request in 0..requests {
            let call = call(client + request * N_CLIENTS);
            let reply = connection.send(&call, "profiles").await?;
            ensure!(reply.status.is_success(), "{call:?} was answered {}", reply.status);
        }
        Ok(())
    });
    try_join_all(clients).await.map(drop)
}
