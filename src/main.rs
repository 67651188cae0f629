//! The handler that the Functions host runs: settings, logs, app, serve. `tributary audit` audits
//! the domains instead.

use std::{error::Error, process::ExitCode, sync::Arc};

use clap::{Parser, Subcommand};
use custom_handler::Shutdown;
use tokio::runtime::{Builder, Runtime};
use tributary::{
    app::{App, Options},
    audit::{Audit, command},
    config::{Config, ConfigError, Settings, worker_threads},
    cosmos::Cosmos,
    telemetry,
};

/// The handler of the Tributary function app
///
/// Without a command it serves the Functions host, which starts it so.
#[derive(Parser)]
#[command(name = "tributary")]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    Audit(command::Arguments),
}

fn main() -> ExitCode {
    let CommandLine { command } = CommandLine::parse();
    match runtime() {
        Ok(runtime) => runtime.block_on(async {
            match command {
                None => serve().await,
                Some(Command::Audit(arguments)) => audit(&arguments).await,
            }
        }),
        Err(error) => failure(&*error),
    }
}

fn runtime() -> Result<Runtime, Box<dyn Error>> {
    let threads = worker_threads()?.get();
    Ok(Builder::new_multi_thread().worker_threads(threads).enable_all().build()?)
}

async fn serve() -> ExitCode {
    match start().await {
        Ok(shutdown) => shutdown.exit_code().into(),
        Err(error) => failure(&*error),
    }
}

fn failure(error: &dyn Error) -> ExitCode {
    // On standard error, which the host shows as an error.
    eprintln!("tributary: {error}");
    ExitCode::FAILURE
}

async fn start() -> Result<Shutdown, Box<dyn Error>> {
    let settings = Settings::ENVIRONMENT;
    let Config { admission, audit, authentication, cosmos, background, clock, telemetry } =
        Config::read(settings)?;
    let options =
        Options { admission, authentication, audit, background, clock, ..Default::default() };
    let cosmos: Arc<Cosmos> = cosmos.into();
    let app = App::new(&cosmos, options, settings)?;
    let telemetry = telemetry::start(&telemetry)?;
    if clock.is_simulated() {
        tracing::warn!("Clock__Rate is set: the clock of the app is not the real one");
    }
    let warm_up = tokio::spawn(app.warm_up());
    let served = app.into_handler().serve().await;
    warm_up.abort();
    telemetry.stop().await;
    Ok(served?)
}

async fn audit(arguments: &command::Arguments) -> ExitCode {
    match audits() {
        Ok(audits) => command::run(&audits, arguments).await,
        Err(error) => command::fail(error),
    }
}

/// Returns the audit of each domain.
fn audits() -> Result<Vec<(&'static str, Audit)>, ConfigError> {
    let settings = Settings::ENVIRONMENT;
    let Config { cosmos, clock, .. } = Config::read(settings)?;
    let cosmos: Arc<Cosmos> = cosmos.into();
    let app = App::new(&cosmos, Options { clock, ..Default::default() }, settings)?;
    Ok(app.audits().map(|(name, audit)| (name, audit.clone())).collect())
}
