//! The live container that `monitor` and `sample` read.

use std::{env, fmt};

use anyhow::Context;
use clap::Args;
use tributary_partition::monitor::{LiveContainer, connect};

/// The environment variable with the connection, where `--cosmos` is not given. A key on the command line
/// would be in the history of the shell and in the list of processes.
const CONNECTION_VARIABLE: &str = "COSMOS_CONNECTION";

#[derive(Debug, Args)]
pub(super) struct ContainerArguments {
    /// The account: `AccountEndpoint=…;AccountKey=…;`, or its URL to be reached with the identity that
    /// is signed in. Better than a key on the command line: the environment variable COSMOS_CONNECTION.
    #[arg(long, value_name = "CONNECTION")]
    cosmos: Option<String>,

    /// The database.
    #[arg(long, value_name = "NAME", default_value = "tributary")]
    database: String,

    /// The container.
    #[arg(long = "container", value_name = "NAME")]
    pub id: String,
}

impl ContainerArguments {
    /// Connects to the account and looks the container up.
    pub(super) async fn open(&self) -> anyhow::Result<LiveContainer> {
        let connection = self.cosmos.clone().or_else(|| env::var(CONNECTION_VARIABLE).ok());
        let connection = connection.with_context(|| {
            format!(
                "no account: give --cosmos, or set {CONNECTION_VARIABLE}, to a connection string or a URL"
            )
        })?;
        LiveContainer::open(&connect(&connection).await?, &self.database, &self.id).await
    }
}

impl fmt::Display for ContainerArguments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.database, self.id)
    }
}
