//! The command `tributary-local`, which an app can have as an example of its own:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     tributary_local::command::main()
//! }
//! ```
//!
//! In `examples/local.rs`, with this crate among the `dev-dependencies`, `cargo run --example local` runs the app.

mod api_document;
mod cli;
mod host_client;
mod invoke;
mod launcher;
mod overview;
mod project;
mod running_app;
mod tail;

pub use api_document::example_of;

use std::path::Path;
use std::process::ExitCode;

use cargo_tributary::scaffold::NewPart;
use clap::Parser as _;
use cli::{LocalCli, LocalCommand};
use project::Project;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Runs the command with the arguments of the process. `--help` has the options.
pub fn main() -> ExitCode {
    if let Some(words) = launcher::requested() {
        return launcher::become_program(&words);
    }
    let LocalCli { command, start } = LocalCli::parse();
    log();
    let ended = match command {
        None => block_on(running_app::run(start)),
        Some(LocalCommand::Invoke(options)) => block_on(invoke::invoke(options)),
        Some(LocalCommand::Tail(options)) => block_on(tail::tail(options)),
        Some(LocalCommand::Completions { shell }) => cli::print(shell),
        Some(LocalCommand::New(part)) => block_on(new(part)),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            anstream::eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn new(part: NewPart) -> anyhow::Result<()> {
    let project = Project::read(Path::new(".")).await?;
    print!("{}", cargo_tributary::scaffold::create(&project.root, &part)?);
    Ok(())
}

fn block_on<T>(task: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Runtime::new()?.block_on(task)
}

/// Writes the lines of the libraries to stderr, as `RUST_LOG` selects them:
/// `RUST_LOG=tributary_local::chaos=debug` gives a line for each fault of `--chaos`.
fn log() {
    let levels = std::env::var("RUST_LOG").ok().and_then(|levels| levels.parse::<Targets>().ok());
    let lines = fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry().with(levels.unwrap_or_default()).with(lines).init();
}
