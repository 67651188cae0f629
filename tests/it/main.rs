//! Stories told through the front door: the app's router or the handler's process, the real SDK,
//! the local Cosmos DB endpoint. The tree mirrors `functions/`.

mod blog;
mod http;
mod world;
