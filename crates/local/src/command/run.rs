//! What `cargo local` does, step by step.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::chaos::Chaos;
use crate::cosmos::{self, ContainersFile, CosmosEndpoint, EndpointOptions, RunningServer};
use crate::demo::Demo;
use crate::host::{
    self, AuthLevel, Console, FunctionApp, Host, HostOptions, Keys, Settings, Trigger,
};
use anyhow::{Context as _, bail};
use azure_data_cosmos_driver::models::ConnectionString;
use serde::Serialize;
use tributary_package::Layout;
use tributary_tools::Client;

use super::cli::Cli;
use super::project::Project;
use super::{launcher, signals};

/// The setting with the database's name, and what it is without the setting.
const DATABASE: (&str, &str) = ("CosmosDatabase", "tributary");
/// The connection that the handler reads; triggers may name others.
const CONNECTION: &str = "CosmosConnection";

/// Runs until it is asked to end.
pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    let console = if cli.verbose { Console::verbose() } else { Console::stderr() };
    let chaos = cli.chaos.clone().map(|spec| Chaos::new(spec, cli.seed));
    // Whatever is under way is dropped when the signal comes, and dropping ends its processes.
    let ended = tokio::select! {
        ended = steps(cli, chaos.clone(), console.clone()) => ended,
        signal = signals::asked_to_end() => signal.context("Ctrl-C cannot be waited for"),
    };
    if let Some(chaos) = chaos {
        console.plain(&chaos.summary());
    }
    ended
}

async fn steps(cli: Cli, chaos: Option<Chaos>, console: Console) -> anyhow::Result<()> {
    let root = match &cli.app {
        Some(root) => root.canonicalize().with_context(|| format!("--app {}", root.display()))?,
        None => Project::find_root().await?,
    };
    let mut settings = read_settings(&root)?;
    // What is wrong with a data set is said before anything is built.
    let demos = cli.demo.as_deref().map(|domains| Demo::read_all(&root, domains)).transpose()?;
    let demos = demos.unwrap_or_default();
    let store = Store::start(&cli, chaos.clone()).await?;
    console.info(&format!("Cosmos DB endpoint: {}", store.url()));
    provision(&root, &settings, &store).await?;
    if cli.cosmos_only {
        if store.own.is_some() {
            console
                .info(&format!("In another terminal: cargo local --cosmos '{}'", store.connection));
        }
        ready(None, store.url())?;
        return if store.own.is_some() { std::future::pending().await } else { Ok(()) };
    }

    let app = FunctionApp::load(&root, &settings)?;
    for warning in app.warnings() {
        console.warn(warning);
    }
    warn_of_missing_settings(&app, &settings, &console);
    settings.set_connection(CONNECTION, &store.connection);
    for function in app.functions() {
        if let Trigger::Cosmos(trigger) = &function.trigger {
            settings.set_connection(&trigger.connection, &store.connection);
            settings.set_connection(&trigger.lease_connection, &store.connection);
        }
    }
    let folder = prepare(&root, &app, &cli).await?;
    let keys = cli.enable_auth.then(Keys::generate);
    let options = HostOptions {
        port: cli.port,
        keys: keys.clone(),
        poll_delay: cli.feed_poll_ms.map(Duration::from_millis),
        launcher: launcher::words(),
        console: console.clone(),
        chaos,
        ..HostOptions::new(folder)
    };
    let host = Host::start(app.clone(), &settings, options).await?;
    print_functions(&app, &host, keys.as_ref(), &console);
    console.hush(true);
    load(&demos, host.url(), keys.as_ref(), &console).await?;
    console.hush(false);
    ready(Some(format!("{}/api", host.url())), store.url())?;
    let failure = host.failed().await;
    host.stop().await;
    bail!(failure);
}

/// Loads data sets and waits until the app shows them.
async fn load(
    demos: &[Demo],
    url: &str,
    keys: Option<&Keys>,
    console: &Console,
) -> anyhow::Result<()> {
    let client = Client::new(url)?.with_key(keys.map(|keys| keys.function.clone()));
    for demo in demos {
        console.info(&format!("Demo of {}: {}", demo.domain, demo.about));
        demo.send(&client).await?;
    }
    for demo in demos {
        demo.wait(&client).await?;
        console.success(&format!("Demo of {}: try {url}/api/{}", demo.domain, demo.to_try));
    }
    Ok(())
}

/// `local.settings.json`, or the example for it; the environment wins, as with Core Tools.
fn read_settings(root: &Path) -> anyhow::Result<Settings> {
    let settings = settings_file(root).map(|path| Settings::read(&path)).transpose()?;
    Ok(settings.unwrap_or_default().overridden_by(std::env::vars()))
}

fn settings_file(root: &Path) -> Option<PathBuf> {
    let files = ["local.settings.json", "local.settings.json.example"];
    files.iter().map(|file| root.join(file)).find(|path| path.is_file())
}

/// Core Tools refuses to start without these, so say it before someone tries.
fn warn_of_missing_settings(app: &FunctionApp, settings: &Settings, console: &Console) {
    if settings.get("FUNCTIONS_WORKER_RUNTIME") != Some("custom") {
        console.warn(
            "local.settings.json: FUNCTIONS_WORKER_RUNTIME must be \"custom\" for func start",
        );
    }
    let http = |trigger: &Trigger| matches!(trigger, Trigger::Http(_));
    let storage = settings.iter().any(|(name, _)| name.starts_with("AzureWebJobsStorage"));
    if !storage && !app.functions().iter().all(|function| http(&function.trigger)) {
        console.warn("local.settings.json: AzureWebJobsStorage is missing: func start asks for it");
    }
}

/// The Cosmos DB account in use: an own endpoint, or the one of `--cosmos`.
struct Store {
    connection: String,
    url: String,
    own: Option<(CosmosEndpoint, RunningServer)>,
}

impl Store {
    async fn start(cli: &Cli, chaos: Option<Chaos>) -> anyhow::Result<Self> {
        if let Some(connection) = &cli.cosmos {
            let parsed: ConnectionString = connection
                .parse()
                .ok()
                .context("--cosmos must be a connection string, AccountEndpoint=…;AccountKey=…")?;
            let url = parsed.account_endpoint().to_owned();
            return Ok(Self { connection: connection.clone(), url, own: None });
        }
        let (partitions, charges) = (cli.partitions, cli.charge);
        let options = EndpointOptions { partitions, charges, chaos, ..EndpointOptions::default() };
        let endpoint = CosmosEndpoint::in_process(options)?;
        let server = endpoint.serve(cli.cosmos_port).await?;
        Ok(Self {
            connection: server.connection_string(),
            url: server.url(),
            own: Some((endpoint, server)),
        })
    }

    fn url(&self) -> &str {
        &self.url
    }
}

async fn provision(root: &Path, settings: &Settings, store: &Store) -> anyhow::Result<()> {
    let file = root.join("infra/containers.json");
    if !file.is_file() {
        return Ok(());
    }
    let containers = ContainersFile::read(&file)?;
    let database = settings.get(DATABASE.0).unwrap_or(DATABASE.1);
    if let Some((endpoint, _)) = &store.own {
        endpoint.provision(database, &containers).await?;
    } else {
        let client = host::connect(&store.connection).await;
        let client = client.map_err(|fault| anyhow::anyhow!("--cosmos: {fault}"))?;
        cosmos::provision(&client, database, &containers).await?;
    }
    Ok(())
}

/// The folder to run: built and staged, or the app's own when there is nothing to build.
async fn prepare(root: &Path, app: &FunctionApp, cli: &Cli) -> anyhow::Result<PathBuf> {
    if !root.join("Cargo.toml").is_file() {
        return Ok(root.to_owned());
    }
    let project = Project::read(root).await?;
    let executable = Path::new(&app.host().executable);
    let name = executable.file_stem().unwrap_or_default().to_string_lossy();
    let built = project.build(&name, cli.release).await?;
    let folder = project.target.join("functionapp-local");
    // A setting may have overridden what the file says.
    let executable = app.host().executable.clone();
    let layout = Layout { executable, ..Layout::read(root)? };
    tributary_package::stage(&layout, &built, &folder)?;
    // `func start --script-root` reads its settings there.
    if let Some(settings) = settings_file(root) {
        let to = folder.join("local.settings.json");
        std::fs::copy(&settings, &to).with_context(|| format!("{}", settings.display()))?;
    }
    Ok(folder)
}

fn print_functions(app: &FunctionApp, host: &Host, keys: Option<&Keys>, console: &Console) {
    console.heading("\nFunctions:\n");
    for function in app.functions() {
        let what = match &function.trigger {
            Trigger::Http(http) => {
                let methods: Vec<_> = http.methods.iter().map(http::Method::as_str).collect();
                let methods = methods.join(",");
                let locked = keys.is_some() && http.auth_level != AuthLevel::Anonymous;
                let lock = if locked { " (key)" } else { "" };
                let route = app.host().full_route(&http.route);
                let methods = if methods.is_empty() { methods } else { format!("[{methods}] ") };
                format!("{methods}{}/{route}{lock}", host.url())
            }
            Trigger::Cosmos(trigger) => {
                format!("cosmosDBTrigger on {}/{}", trigger.database, trigger.container)
            }
            Trigger::Timer(timer) => format!("timerTrigger at {}", timer.schedule.as_str()),
        };
        console.plain(&format!("\t{}: {what}", function.name));
    }
    for name in app.disabled() {
        console.plain(&format!("\t{name}: disabled"));
    }
    if let Some(keys) = keys {
        console.plain(&format!("\n\tFunction key: {}", keys.function));
        console.plain(&format!("\tMaster key: {}", keys.master));
    }
    console.plain("");
}

/// The one line on stdout.
#[derive(Serialize)]
struct Ready<'a> {
    event: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<String>,
    cosmos: &'a str,
}

fn ready(api: Option<String>, cosmos: &str) -> anyhow::Result<()> {
    let line = serde_json::to_string(&Ready { event: "ready", api, cosmos })?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("stdout is closed")
}
