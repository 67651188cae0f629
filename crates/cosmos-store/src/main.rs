//! The executable `cosmos-store`.

mod commands;

use std::{
    io::{IsTerminal as _, Write as _},
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, anyhow, bail};
use clap::{Args, Parser};
use cosmos_store::{
    engine::{Engine, Name},
    http::{Options, Server, Service, WELL_KNOWN_KEY},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::signal;

use self::commands::Command;

/// Azure Cosmos DB (NoSQL) on this machine, in memory or on disk, for every SDK.
///
/// Without a command it serves until Ctrl-C.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: ServeArguments,
}

#[derive(Args, Debug)]
struct ServeArguments {
    /// The port; 0 takes a free one.
    #[arg(long, default_value_t = 8081)]
    port: u16,
    /// Keeps everything in this folder; without it, in memory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Physical partitions of a new container.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    partitions: u32,
    /// What a request has to be signed with: the well-known key of the emulators, or none, which takes any key and token.
    #[arg(long, value_parser = ["key", "none"], default_value = "key")]
    auth: String,
    /// Creates the database and the containers of a file that do not exist: `{"database": "blog", "containers": [{"id":
    /// "posts", "partitionKey": {"paths": ["/postId"], "version": 2}}]}`.
    #[arg(long, value_name = "FILE")]
    containers: Option<PathBuf>,
    /// A name besides localhost under which the store may be called; `*` answers everyone.
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Encrypts the port, with a certificate that clients have to trust: the SDK for Java takes no other port.
    #[arg(long)]
    https: bool,
    /// Writes the certificate of --https to this file, in PEM.
    #[arg(long, value_name = "FILE", requires = "https")]
    certificate: Option<PathBuf>,
    /// Adds a second region for reading, at the next port, whose state may be this old.
    #[arg(long, value_name = "MILLISECONDS")]
    read_region_lag: Option<u64>,
    /// Listens on all interfaces, for containers and other machines; names their host with --allow-host.
    #[arg(long)]
    all_interfaces: bool,
}

/// Containers that exist from the start.
#[derive(Debug, Deserialize)]
struct Containers {
    database: String,
    containers: Vec<Value>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { command, serve } = Arguments::parse();
    match command {
        Some(command) => command.run().await,
        None => run(serve).await,
    }
}

/// Serves until the program is stopped.
async fn run(arguments: ServeArguments) -> anyhow::Result<()> {
    let engine =
        Engine::open(arguments.data.as_deref()).with_context(|| match &arguments.data {
            Some(folder) => format!("cannot open the store in {}", folder.display()),
            None => "cannot create the store".to_owned(),
        })?;
    if let Some(file) = &arguments.containers {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let containers: Containers = serde_json::from_str(&text)
            .with_context(|| format!("{} has no database and containers", file.display()))?;
        create(&engine, containers, arguments.partitions).await?;
    }
    let options = Options {
        key: (arguments.auth == "key").then(|| WELL_KNOWN_KEY.to_owned()),
        partitions: arguments.partitions,
        allowed_hosts: arguments.allow_host,
        https: arguments.https,
        read_region_lag: arguments.read_region_lag.map(Duration::from_millis),
    };
    let is_open = arguments.all_interfaces;
    let interface = if is_open { Ipv4Addr::UNSPECIFIED } else { Ipv4Addr::LOCALHOST };
    let address = SocketAddr::from((interface, arguments.port));
    let service = Service::new(engine.clone(), options);
    let server = service.serve(address).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => anyhow!(
            "port {} is in use: stop the program that listens on it, or choose another one with --port (0 takes a \
             free one)",
            arguments.port
        ),
        _ => anyhow!("cannot listen on {address}: {error}"),
    })?;
    if let (Some(file), Some(certificate)) = (&arguments.certificate, server.certificate()) {
        std::fs::write(file, certificate)
            .with_context(|| format!("cannot write the certificate to {}", file.display()))?;
    }
    announce(&server, arguments.data.as_deref());
    tokio::select! {
        stopped = stopped() => stopped?,
        () = expire(engine) => {}
    }
    server.stop().await;
    Ok(())
}

async fn create(engine: &Engine, containers: Containers, partitions: u32) -> anyhow::Result<()> {
    let Containers { database, containers } = containers;
    let name = Name::Id(&database);
    if engine.view().database(name).is_none() {
        engine.create_database(&json!({"id": database}), None).await?;
    }
    for definition in containers {
        let Some(id) = definition["id"].as_str() else {
            bail!("a container of the database {database} has no id");
        };
        if engine.view().container(name, Name::Id(id)).is_none() {
            let created = engine.create_container(name, &definition, partitions, None).await;
            created.with_context(|| format!("cannot create the container {id}"))?;
        }
    }
    Ok(())
}

/// Removes items whose time to live has ended, each second.
async fn expire(engine: Engine) {
    let mut each_second = tokio::time::interval(Duration::from_secs(1));
    loop {
        each_second.tick().await;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        engine.expire(i64::try_from(now.as_secs()).unwrap_or(i64::MAX)).await;
    }
}

/// Tells people how to connect, and programs by a line of JSON. A closed stream is no error.
fn announce(server: &Server, folder: Option<&std::path::Path>) {
    let url = server.url();
    let mut out = std::io::stdout();
    if !out.is_terminal() {
        let _ = writeln!(out, "{}", json!({"event": "ready", "cosmos": url}));
        let _ = out.flush();
    }
    let mut err = std::io::stderr();
    let kept = folder.map_or_else(|| "memory".to_owned(), |folder| folder.display().to_string());
    let _ = writeln!(err, "cosmos-store listens on {url} and keeps its data in {kept}");
    if let Some(region) = server.read_region() {
        let _ = writeln!(err, "The region for reading, West US, listens on {}", region.url());
    }
    let _ = writeln!(err, "AccountEndpoint={url};AccountKey={WELL_KNOWN_KEY};");
}

/// Waits for Ctrl-C, or for the signal by which a service manager stops a program.
async fn stopped() -> anyhow::Result<()> {
    #[cfg(unix)]
    {
        let mut terminate = signal::unix::signal(signal::unix::SignalKind::terminate())?;
        tokio::select! {
            interrupted = signal::ctrl_c() => interrupted?,
            _ = terminate.recv() => {}
        }
    }
    #[cfg(not(unix))]
    signal::ctrl_c().await?;
    Ok(())
}
