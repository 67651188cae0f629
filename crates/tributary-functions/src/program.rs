//! The executable of an app: it serves the Functions host. The command `audit` audits the domains instead,
//! `projections` lists, pauses and resumes the projections, `functions` writes the folders of functions for
//! the host, and `openapi` prints the OpenAPI document.

use std::{
    error::Error,
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use axum::Router;
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use custom_handler::Shutdown;
use tokio::runtime::{Builder, Runtime};

use crate::{
    app::{App, AppOptions, Declaration},
    audit,
    brand::{self, Brand},
    config::{Config, ConfigError, Settings, worker_threads},
    cosmos::Cosmos,
    domain::{BuildDomain, BuildSignIn},
    http::{ErrorBody, ErrorForm, Problem},
    operator,
    page::WebPage,
    telemetry,
};

/// An app: its name, and its domains.
#[derive(Debug, Clone)]
#[must_use = "a program does nothing until it runs"]
pub struct Program {
    brand: Brand,
    pub(crate) domains: Vec<BuildDomain>,
    pub(crate) page: Option<&'static WebPage>,
    pub(crate) costs: &'static str,
    pub(crate) errors: ErrorForm,
    pub(crate) sign_in: Option<BuildSignIn>,
    pub(crate) layer: fn(Router) -> Router,
}

/// The handler of the function app
///
/// Without a command it serves the Functions host, which starts it so.
#[derive(Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<ProgramCommand>,
}

#[derive(Subcommand)]
enum ProgramCommand {
    Audit(audit::command::Arguments),
    Functions(FunctionsArguments),
    Projections(operator::command::ProjectionArguments),
    /// Prints the OpenAPI document of the HTTP functions
    Openapi,
}

impl Program {
    /// Creates an app without domains. The name is that of the crate, so that `RUST_LOG` can switch on its debug
    /// lines. Metrics and the types of problem documents have it, too.
    pub fn new(name: &'static str, version: &'static str) -> Self {
        let errors = ErrorForm::of::<Problem>();
        let brand = Brand { name, version };
        let (page, sign_in) = (None, None);
        let layer = |router| router;
        Self { brand, domains: Vec::new(), page, costs: "{}", errors, sign_in, layer }
    }

    /// Adds a domain.
    pub fn domain(mut self, build: BuildDomain) -> Self {
        self.domains.push(build);
        self
    }

    /// Sets the web page at `/` ([`page`](crate::page)).
    pub fn page(self, page: &'static WebPage) -> Self {
        Self { page: Some(page), ..self }
    }

    /// Sets the measured costs of requests, which the OpenAPI document has and `tributary-testing` writes: JSON, for
    /// each function a list of `{request, case, storeRequests, requestUnits}`.
    pub fn costs(self, costs: &'static str) -> Self {
        Self { costs, ..self }
    }

    /// Sets the body of every refusal, which is a problem document (RFC 9457) otherwise.
    pub fn errors<E: ErrorBody>(self) -> Self {
        Self { errors: ErrorForm::of::<E>(), ..self }
    }

    /// Sets the sign-in of the app's own, instead of `Authentication__Mode`. Some commands build it without settings.
    pub fn sign_in(self, build: BuildSignIn) -> Self {
        Self { sign_in: Some(build), ..self }
    }

    /// Sets layers of the app's own around all functions with their admission control and budgets. The log line, the
    /// form of errors and the catch of panics are outside of them.
    pub fn layer(self, layer: fn(Router) -> Router) -> Self {
        Self { layer, ..self }
    }

    /// Builds the app on a database, without a request to the store.
    pub fn build(
        &self,
        cosmos: &Arc<Cosmos>,
        options: AppOptions,
        settings: Settings<'_>,
    ) -> Result<App, ConfigError> {
        brand::set(self.brand);
        App::new(self, cosmos, options, settings)
    }

    /// Builds the app without a store, to read its declarations. Every request to the store fails.
    pub fn describe(&self) -> Result<App, ConfigError> {
        const NOWHERE: &str = "AccountEndpoint=http://127.0.0.1:1/;AccountKey=a2V5";
        let nowhere = |name: &str| (name == "CosmosConnection").then(|| NOWHERE.to_owned());
        let Config { cosmos, .. } = Config::read(Settings::new(&nowhere))?;
        self.build(&cosmos.into(), AppOptions::default(), Settings::NONE)
    }

    /// Runs the command line of the process to its end.
    pub fn run(&self) -> ExitCode {
        brand::set(self.brand);
        let Brand { name, version } = self.brand;
        let matches = CommandLine::command().name(name).version(version).get_matches();
        let CommandLine { command } =
            CommandLine::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let ended = match &command {
            Some(ProgramCommand::Functions(arguments)) => self.functions(arguments),
            Some(ProgramCommand::Openapi) => self.openapi(),
            _ => runtime().and_then(|runtime| runtime.block_on(self.run_async(command.as_ref()))),
        };
        let is_operators =
            matches!(command, Some(ProgramCommand::Audit(_) | ProgramCommand::Projections(_)));
        ended.unwrap_or_else(|error| {
            let failed = self.fail(&*error);
            if is_operators { EXIT_FAILED.into() } else { failed }
        })
    }

    async fn run_async(
        &self,
        command: Option<&ProgramCommand>,
    ) -> Result<ExitCode, Box<dyn Error>> {
        match command {
            Some(ProgramCommand::Audit(arguments)) => {
                let app = self.app_of_settings()?;
                let audits: Vec<_> = app.audits().collect();
                let is_clean = audit::command::run(&audits, arguments).await?;
                Ok(u8::from(!is_clean).into())
            }
            Some(ProgramCommand::Projections(arguments)) => {
                let app = self.app_of_settings()?;
                operator::command::run(&app.rebuilds, arguments).await?;
                Ok(ExitCode::SUCCESS)
            }
            _ => Ok(self.start().await?.exit_code().into()),
        }
    }

    fn fail(&self, error: &dyn Error) -> ExitCode {
        // On standard error, which the host shows as an error.
        eprintln!("{}: {error}", self.brand.name);
        ExitCode::FAILURE
    }

    async fn start(&self) -> Result<Shutdown, Box<dyn Error>> {
        let settings = Settings::ENVIRONMENT;
        let Config { cosmos, options, telemetry } = Config::read(settings)?;
        let app = self.build(&cosmos.into(), options, settings)?;
        let telemetry = telemetry::start(&telemetry, app.domains.iter().map(|domain| domain.name))?;
        if options.clock.is_simulated() {
            tracing::warn!("Clock__Rate is set: the clock of the app is not the real one");
        }
        let warm_up = tokio::spawn(app.warm_up());
        let served = app.into_handler().serve().await;
        warm_up.abort();
        telemetry.stop().await;
        Ok(served?)
    }

    fn functions(&self, arguments: &FunctionsArguments) -> Result<ExitCode, Box<dyn Error>> {
        let differences = write_functions(&self.describe()?.declarations(), arguments);
        Ok(differences.iter().fold(ExitCode::SUCCESS, |_, difference| self.fail(difference)))
    }

    fn openapi(&self) -> Result<ExitCode, Box<dyn Error>> {
        println!("{:#}", self.describe()?.openapi());
        Ok(ExitCode::SUCCESS)
    }

    fn app_of_settings(&self) -> Result<App, ConfigError> {
        let settings = Settings::ENVIRONMENT;
        let Config { cosmos, options: AppOptions { background, clock, .. }, .. } =
            Config::read(settings)?;
        let options = AppOptions { background, clock, ..Default::default() };
        self.build(&cosmos.into(), options, settings)
    }
}

fn runtime() -> Result<Runtime, Box<dyn Error>> {
    Ok(Builder::new_multi_thread().worker_threads(worker_threads()?).enable_all().build()?)
}

/// The exit code of the commands `audit` and `projections` when they have failed.
const EXIT_FAILED: u8 = 2;

const FILE: &str = "function.json";

/// Writes functions/ for the Functions host: a folder with function.json for each function
#[derive(Debug, Args)]
struct FunctionsArguments {
    /// Change nothing, and fail if a file would change
    #[arg(long)]
    check: bool,
    /// The folder of the functions
    #[arg(long, value_name = "DIR", default_value = "functions")]
    folder: PathBuf,
}

/// Returns the errors; with `--check`, one for each difference.
fn write_functions(
    declarations: &[Declaration],
    FunctionsArguments { check, folder }: &FunctionsArguments,
) -> Vec<io::Error> {
    let checked = |path: &Path, is_same: bool, change: &dyn Fn() -> io::Result<()>| {
        let changed = match (is_same, *check) {
            (true, _) => return Ok(()),
            (false, true) => {
                let difference =
                    "differs from the table of functions. Run this command without --check.";
                return Err(io::Error::other(format!("{} {difference}", path.display())));
            }
            (false, false) => change(),
        };
        changed.map_err(|error| about(path, &error))
    };
    let declared = declarations.iter().map(|declaration| {
        let folder = folder.join(declaration.name);
        let path = folder.join(FILE);
        let text = declaration.function_json()?;
        let is_same = fs::read_to_string(&path).is_ok_and(|is| is == text);
        let write = || fs::create_dir_all(&folder).and_then(|()| fs::write(&path, &text));
        checked(&path, is_same, &write)
    });
    let superfluous = match superfluous(folder, declarations) {
        Ok(folders) => folders,
        Err(error) => return vec![about(folder, &error)],
    };
    let superfluous = superfluous.iter().map(|folder| {
        let remove = || fs::remove_file(folder.join(FILE)).and_then(|()| fs::remove_dir(folder));
        checked(folder, false, &remove)
    });
    declared.chain(superfluous).filter_map(Result::err).collect()
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

fn superfluous(folder: &Path, declarations: &[Declaration]) -> io::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries: io::Result<Vec<_>> = fs::read_dir(folder)?.collect();
    let is_superfluous = |entry: &DirEntry| {
        declarations.iter().all(|known| entry.file_name() != known.name)
            && entry.path().join(FILE).exists()
    };
    let mut found: Vec<_> =
        entries?.iter().filter(|entry| is_superfluous(entry)).map(DirEntry::path).collect();
    found.sort();
    Ok(found)
}
