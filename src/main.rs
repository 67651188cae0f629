//! The handler that the Functions host runs: settings, logs, app, serve.

use std::process::ExitCode;

use tributary::{app::app, config::Config, cosmos::Cosmos};

#[tokio::main]
async fn main() -> ExitCode {
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
    Ok(app(&cosmos).serve().await?)
}
