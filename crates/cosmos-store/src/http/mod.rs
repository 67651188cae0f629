//! The REST API of the service.
//!
//! | module | what it answers |
//! | --- | --- |
//! | `account` | the account |
//! | `resources` | databases, containers, offers, partition key ranges |
//! | `items` | operations on one item |
//! | `batch`, `hybrid_row` | transactional batches and bulk |
//! | `query`, `gateway` | queries and their plans |
//! | `feeds`, `changes` | pages of all items, and of the change feed |
//!
//! `call` and `address` read a request, `scope` finds the part of the container that it is for, `answer` writes the
//! headers, and `charge` the request units. `server` is the port (`tls`, an encrypted one), with `callers` and `authorization` before it.
//! `region` is a second port, which lags.

mod account;
mod address;
mod answer;
mod authorization;
mod batch;
mod call;
pub mod callers;
mod changes;
mod charge;
mod feeds;
mod gateway;
mod hybrid_row;
mod items;
mod query;
mod region;
mod resources;
mod scope;
mod server;
mod tls;

use std::{net::SocketAddr, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Method, Request, Response};

use self::server::Handler;
use self::{
    address::{Container, owner_not_found},
    answer::Answer,
    call::{Call, name},
};
pub use self::{
    authorization::authorization,
    server::{Server, serve},
};
use crate::{
    Refusal, Result,
    engine::{ContainerId, Engine, View, not_found},
    query::Work,
};

/// The key of the Cosmos DB emulators, which every SDK's documentation has. It is no secret.
pub const WELL_KNOWN_KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// How the store answers.
#[derive(Clone, Debug)]
pub struct Options {
    /// The account key, in base64; `None` takes any bearer token and any signature.
    pub key: Option<String>,
    /// The number of physical partitions of a new container. One that asks for a throughput has at least as many as
    /// that needs.
    pub partitions: u32,
    /// Names besides those of the loopback interface under which the port may be called; `*` answers everyone, pages of
    /// other sites included.
    pub allowed_hosts: Vec<String>,
    /// Encrypts the port, with a certificate of its own ([`Server::certificate`]).
    pub https: bool,
    /// Adds a second region, for reading, to the account of a port. It has the next port (or a free one), and answers
    /// with a state that may be this old, whatever the consistency that is asked for.
    pub read_region_lag: Option<Duration>,
}

impl Default for Options {
    /// Returns the well-known key, one physical partition, and this machine alone.
    fn default() -> Self {
        let key = Some(WELL_KNOWN_KEY.to_owned());
        Self { key, partitions: 1, allowed_hosts: Vec::new(), https: false, read_region_lag: None }
    }
}

/// The store's REST API. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Service {
    engine: Engine,
    options: Arc<Options>,
    /// The ports of two regions: the one for writing, and the one for reading.
    ports: Option<[u16; 2]>,
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

impl Kind {
    /// Returns true for an operation that writes items.
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Query | Self::ReadFeed | Self::ChangeFeed)
    }
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
        Self { engine, options: Arc::new(options), ports: None }
    }

    /// Returns the engine of the store.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the options of the store.
    pub fn options(&self) -> &Arc<Options> {
        &self.options
    }

    /// Reads what a request asks for.
    pub fn operation(&self, request: &Request<Bytes>) -> Operation {
        let segments = call::segments(call::path(request.uri()));
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let ["dbs", database, "colls", container, rest @ ..] = &segments[..] else {
            return Operation::Metadata;
        };
        let Some(kind) = address::kind(request, rest) else { return Operation::Metadata };
        match address::container(&self.engine.view(), database, container) {
            Some(container) => Operation::Items(ItemsOperation {
                kind,
                container: container.id,
                names: [container.database, container.definition.name.clone()],
                item: rest
                    .get(1)
                    .filter(|_| kind != Kind::DeletePartition)
                    .map(ToString::to_string),
            }),
            None => Operation::Metadata,
        }
    }

    /// Answers a request whose signature has been checked. Reads see the given state, or the newest one; a session
    /// token that asks for more than the given state has is answered with 404 and 1002.
    pub async fn answer(&self, request: Request<Bytes>, state: Option<&View>) -> Response<Bytes> {
        let view = state.cloned().unwrap_or_else(|| self.engine.view());
        let call = Call::new(request, view);
        let answering = AssertUnwindSafe(self.dispatch(&call)).catch_unwind().await;
        let answer = match answering {
            Ok(Ok(answer)) => answer,
            Ok(Err(refusal)) => Answer::refusal(&refusal),
            // The connection stays, and the client learns whose fault it is.
            Err(_) => Answer::refusal(&Refusal::new(
                500,
                "The store failed on this request; its log has the reason. Please report it.",
            )),
        };
        answer.into_response(&call.request)
    }

    /// Checks the signature of a request, and answers it.
    pub async fn answer_signed(&self, request: Request<Bytes>) -> Response<Bytes> {
        match server::check(&request, &self.options) {
            Ok(()) => self.answer(request, None).await,
            Err(refusal) => Answer::refusal(&refusal).into_response(&request),
        }
    }

    /// Serves the API on a port, until the returned server is stopped or dropped; 0 takes a free port.
    ///
    /// # Errors
    /// When the port is taken.
    pub async fn serve(&self, address: SocketAddr) -> std::io::Result<Server> {
        if let Some(lag) = self.options.read_region_lag {
            return region::serve(self, address, lag).await;
        }
        serve(address, Arc::clone(&self.options), self.clone().handler()).await
    }

    fn handler(self) -> Handler {
        Box::new(move |request| {
            let service = self.clone();
            async move { service.answer(request, None).await }.boxed()
        })
    }

    async fn dispatch(&self, call: &Call) -> Result<Answer> {
        let view = &call.view;
        match call.path()[..] {
            [] if *call.method() == Method::GET => {
                Ok(Answer::json(200, &account::account(&call.request, self.ports)))
            }
            [] => Err(resources::no_such_verb()),
            ["dbs"] => self.databases(call).await,
            ["dbs", database] => self.database(call, database).await,
            ["dbs", database, "colls"] => self.containers(call, database).await,
            ["dbs", database, "colls", container] => {
                let found = address::container(view, database, container).ok_or_else(not_found)?;
                check_rid(call, &found)?;
                self.container(call, found).await
            }
            ["dbs", database, "colls", container, ref rest @ ..] => {
                let found =
                    address::container(view, database, container).ok_or_else(owner_not_found)?;
                let answer = self.below(call, &found, rest).await;
                let answer = answer.unwrap_or_else(|refusal| Answer::refusal(&refusal));
                Ok(answer.owner(&found.path(), found.rid()))
            }
            ["dbs", _, kind @ ("users" | "clientencryptionkeys"), ..] => Err(unsupported(kind)),
            ["offers"] => self.offers(call, None).await,
            ["offers", rid] => self.offers(call, Some(rid)).await,
            ["addresses", ..] => Err(Refusal::new(
                400,
                "This store has no replicas to connect to directly. Use the SDK in Gateway mode.",
            )),
            _ => Err(no_such_path(call)),
        }
    }

    async fn below(&self, call: &Call, container: &Container, rest: &[&str]) -> Result<Answer> {
        check_rid(call, container)?;
        if let Some(kind) = address::kind(&call.request, rest) {
            let id = rest.get(1).copied();
            return match kind {
                Kind::Read => Self::read(call, container, id.unwrap_or_default()),
                Kind::Query => self.query(call, container).await,
                Kind::Batch => self.batch(call, container).await,
                Kind::Bulk => self.bulk(call, container).await,
                Kind::ReadFeed => Self::read_feed(call, container).await,
                Kind::ChangeFeed => Self::changes(call, container).await,
                Kind::DeletePartition => self.delete_partition(call, container).await,
                _ => self.write(call, container, kind, id).await,
            };
        }
        match *rest {
            ["docs"] if call.is(name::PLAN) => Self::plan(call, container),
            ["docs"] | ["docs", _] => Err(resources::no_such_verb()),
            ["pkranges"] => Ok(resources::ranges(call, container)),
            ["conflicts"] => resources::conflicts(call, container, None),
            ["conflicts", id] => resources::conflicts(call, container, Some(id)),
            [kind @ ("sprocs" | "triggers" | "udfs"), ..] => Err(unsupported(kind)),
            _ => Err(no_such_path(call)),
        }
    }
}

/// Runs what may take long where it holds up no other request.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Refusal::new(503, "The store is stopping.")),
        },
    }
}

/// Refuses a request for a container of the same name that was there before.
fn check_rid(call: &Call, container: &Container) -> Result<()> {
    match call.header("x-ms-cosmos-intended-collection-rid") {
        Some(rid) if rid != container.rid() => {
            let text = format!("The container has the resource id {}, not {rid}.", container.rid());
            Err(Refusal::new(400, text).with_sub_status(1024))
        }
        _ => Ok(()),
    }
}

fn unsupported(kind: &str) -> Refusal {
    let what = match kind {
        "sprocs" => "stored procedures",
        "triggers" => "triggers",
        "udfs" => "user-defined functions",
        "users" => "users and permissions",
        _ => "client encryption keys",
    };
    Refusal::new(501, format!("This store has no {what}."))
}

fn no_such_path(call: &Call) -> Refusal {
    let path = call.request.uri().path();
    Refusal::new(404, format!("There is no resource of the form of {path}."))
}
