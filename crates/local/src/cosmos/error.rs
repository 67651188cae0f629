//! Errors of the endpoint, in sentences for the person at the terminal.

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
        /// The requested port.
        port: u16,
    },
    /// The port cannot be opened for another reason.
    #[error("cannot listen on 127.0.0.1:{port} for the Cosmos DB endpoint")]
    Listen {
        /// The requested port.
        port: u16,
        /// Error of the operating system.
        source: io::Error,
    },
    /// An option is out of its range.
    #[error("{0}")]
    Option(String),
    /// The file of containers cannot be read.
    #[error("cannot read the containers file {path}")]
    ReadFile {
        /// The path of the option.
        path: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The text of the containers file breaks a rule.
    #[error("containers file: {0}")]
    Containers(String),
    /// A database or container exists with other properties.
    #[error("{0}")]
    Exists(String),
    /// A request to Cosmos DB failed.
    #[error("{doing}")]
    Cosmos {
        /// The failed operation, as a sentence.
        doing: String,
        /// Error of the SDK.
        source: azure_data_cosmos::CosmosError,
    },
}

impl EndpointError {
    /// Adds the failed operation to an error of the SDK.
    pub(super) fn cosmos(
        doing: impl Into<String>,
    ) -> impl FnOnce(azure_data_cosmos::CosmosError) -> Self {
        let doing = doing.into();
        move |source| Self::Cosmos { doing, source }
    }
}
