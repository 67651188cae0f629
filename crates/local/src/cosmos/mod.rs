//! A local Cosmos DB endpoint.
