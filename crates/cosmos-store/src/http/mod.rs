//! The REST API of the service.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;

use crate::{
    engine::{ContainerId, Engine, View},
    query::Work,
};

/// How the store answers.
#[derive(Clone, Debug)]
pub struct Options {
    /// The account key, in base64; `None` takes any bearer token and any signature.
    pub key: Option<String>,
    /// The number of physical partitions of a new container that asks for no throughput.
    pub partitions: u32,
}

/// The store's REST API. Cloning is cheap.
#[derive(Clone)]
pub struct Service {
    _engine: Engine,
    _options: Arc<Options>,
}

/// What a request asks for, read from its method, path and headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An operation on the items of a container.
    Items(ItemsOperation),
    /// Everything else: the account, databases, containers, offers, partition key ranges, query plans.
    Metadata,
}

/// An operation on the items of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemsOperation {
    /// Its kind.
    pub kind: Kind,
    /// The container.
    pub container: ContainerId,
    /// The names of the database and the container.
    pub names: [String; 2],
    /// The id of the item, where the path names one.
    pub item: Option<String>,
}

/// The kind of an operation on items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the words of the service")]
pub enum Kind {
    Create,
    Upsert,
    Replace,
    Patch,
    Delete,
    Read,
    Query,
    Batch,
    Bulk,
    ReadFeed,
    ChangeFeed,
    DeletePartition,
}

/// What a request has touched, in the extensions of its response.
#[derive(Clone, Copy, Debug, Default)]
pub struct Touched {
    /// What a query or a feed has loaded.
    pub work: Work,
    /// Items in the answer.
    pub items_returned: u32,
}

impl Service {
    /// Creates the API of a store.
    pub fn new(engine: Engine, options: Options) -> Self {
        Self { _engine: engine, _options: Arc::new(options) }
    }

    /// Reads what a request asks for.
    pub fn operation(&self, request: &http::Request<Bytes>) -> Operation {
        let _ = request;
        todo!()
    }

    /// Answers a request whose signature has been checked. Reads see the given state, or the newest one; a session
    /// token that asks for more than the given state has is answered with 404 and 1002.
    pub async fn answer(
        &self,
        request: http::Request<Bytes>,
        state: Option<&View>,
    ) -> http::Response<Bytes> {
        let _ = (request, state);
        todo!()
    }

    /// Checks the signature of a request, and answers it.
    pub async fn answer_signed(&self, request: http::Request<Bytes>) -> http::Response<Bytes> {
        let _ = request;
        todo!()
    }

    /// Serves the API on a port of the loopback interface, until the returned server is dropped; 0 takes a free port.
    ///
    /// # Errors
    /// When the port is taken.
    pub async fn serve(&self, address: SocketAddr) -> std::io::Result<Server> {
        let _ = address;
        todo!()
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server;
