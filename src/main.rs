//! The handler that the Functions host runs: settings, logs, app, serve. `tributary audit` audits
//! the blog instead.

use std::{env, process::ExitCode};

use tributary::{
    app::{Options, app_with},
    blog::audit::command,
    config::Config,
    cosmos::Cosmos,
};

#[tokio::main]
async fn main() -> ExitCode {
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
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // On standard error, which the host shows as an error.
            eprintln!("tributary: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn start() -> Result<(), Box<dyn std::error::Error>> {
    // The SDK tells of every account that it connects to.
    custom_handler::logs::init_with("info,azure_data_cosmos_driver=warn")?;
    let config = Config::from_env()?;
    let cosmos = Cosmos::new(config.cosmos.account, None, config.cosmos.database);
    let Config { audit, authentication, rename, .. } = config;
    let options = Options { authentication, rename, audit, ..Default::default() };
    Ok(app_with(&cosmos, options).serve().await?)
}
