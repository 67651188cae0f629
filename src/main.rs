//! The handler that the Functions host runs: settings, logs, app, serve. `tributary audit` audits
//! the blog instead.

use std::{env, error::Error, process::ExitCode, sync::Arc};

use custom_handler::Shutdown;
use tokio::runtime::{Builder, Runtime};
use tributary::{
    app::{App, Options},
    blog::audit::command,
    config::{Config, Settings, worker_threads},
    cosmos::Cosmos,
    telemetry,
};

fn main() -> ExitCode {
    match runtime() {
        Ok(runtime) => runtime.block_on(run()),
        Err(error) => failure(&*error),
    }
}

fn runtime() -> Result<Runtime, Box<dyn Error>> {
    let threads = worker_threads()?.get();
    Ok(Builder::new_multi_thread().worker_threads(threads).enable_all().build()?)
}

async fn run() -> ExitCode {
    let mut arguments = env::args_os().skip(1).map(|text| text.to_string_lossy().into_owned());
    match arguments.next().as_deref() {
        None => serve().await,
        Some("audit") => command::run(arguments).await,
        Some("-h" | "--help") => {
            command::help();
            ExitCode::SUCCESS
        }
        Some(other) => command::fail(format!(
            "there is no command {other:?}: `tributary --help` lists what there is"
        )),
    }
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
    let Config { admission, audit, authentication, cosmos, background, telemetry } =
        Config::read(settings)?;
    let options = Options { admission, authentication, audit, background, ..Default::default() };
    let cosmos: Arc<Cosmos> = cosmos.into();
    let app = App::new(&cosmos, options, settings)?;
    let telemetry = telemetry::start(&telemetry)?;
    let warm_up = tokio::spawn(app.warm_up());
    let served = app.into_handler().serve().await;
    warm_up.abort();
    telemetry.stop().await;
    Ok(served?)
}
