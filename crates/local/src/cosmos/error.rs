//! What can go wrong around the endpoint, in sentences for the person at the terminal.

use std::io;

/// An error of the local Cosmos DB endpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// Another program listens on the port.
    #[error(
        "port {port} on 127.0.0.1 is in use: stop the program that listens on it, or choose \
         another port for the Cosmos DB endpoint (0 picks a free one)"
    )]
    PortInUse {
        /// The port that was asked for.
        port: u16,
    },
    /// The port cannot be opened for another reason.
    #[error("cannot listen on 127.0.0.1:{port} for the Cosmos DB endpoint")]
    Listen {
        /// The port that was asked for.
        port: u16,
        /// What the operating system answered.
        source: io::Error,
    },
    /// An option is out of its range.
    #[error("{0}")]
    Option(String),
    /// The file of containers cannot be read.
    #[error("cannot read the containers file {path}")]
    ReadFile {
        /// The path as it was given.
        path: String,
        /// What the operating system answered.
        source: io::Error,
    },
    /// The text of the containers file is not what the endpoint accepts.
    #[error("containers file: {0}")]
    Containers(String),
    /// A database or container exists, but is another one than asked for.
    #[error("{0}")]
    Exists(String),
    /// A request to Cosmos DB failed.
    #[error("{doing}")]
    Cosmos {
        /// What was being done, as a sentence.
        doing: String,
        /// What the SDK reported.
        source: azure_data_cosmos::CosmosError,
    },
}

impl EndpointError {
    /// Wraps an error of the SDK with what was being done.
    pub(super) fn cosmos(
        doing: impl Into<String>,
    ) -> impl FnOnce(azure_data_cosmos::CosmosError) -> Self {
        let doing = doing.into();
        move |source| Self::Cosmos { doing, source }
    }
}
