//! The Cosmos DB endpoint alone, on a free port, until Ctrl-C:
//! `cargo run -p tributary-local --example cosmos_endpoint`.
//!
//! It prints one line of JSON as soon as it is ready, for programs that start it.

use tributary_local::cosmos::{CosmosEndpoint, EndpointOptions};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let endpoint = CosmosEndpoint::in_process(EndpointOptions {
        partitions: 2,
        ..EndpointOptions::default()
    })?;
    let server = endpoint.serve(0).await?;
    println!("{}", serde_json::json!({ "event": "ready", "cosmos": server.url() }));
    tokio::signal::ctrl_c().await?;
    server.stop().await;
    Ok(())
}
