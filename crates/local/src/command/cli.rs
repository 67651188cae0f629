//! The command line.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use cargo_tributary::scaffold::NewPart;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

use crate::chaos::ChaosSpec;

/// The port of the HTTP functions, as with Core Tools.
pub(crate) const DEFAULT_PORT: u16 = 7071;

/// Run the function app on this machine: no account, no Docker, no Core Tools.
///
/// Builds the handler, starts a Cosmos DB endpoint with the containers of infra/containers.json, stages the app
/// in target/functionapp-local and runs it under a stand-in for the Functions host. Logs go to stderr. stdout
/// gets one line of JSON when everything is ready, unless it is a terminal. Ctrl-C ends everything.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo local", version, args_conflicts_with_subcommands = true)]
pub(crate) struct LocalCli {
    #[command(subcommand)]
    pub command: Option<LocalCommand>,

    #[command(flatten)]
    pub start: StartOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LocalCommand {
    /// Invoke a function of the running app: with a file, or with an example, which is that of the OpenAPI
    /// document, or the last batch of the change feed. The body of the answer goes to stdout, all else to
    /// stderr. The exit code is 1 if the function fails, or answers with an error.
    Invoke(InvokeOptions),

    /// Follow the invocations of the running app: result, duration, charge. Ctrl-C ends it.
    Tail(TailOptions),

    /// Print the completions of a shell. For bash: source <(cargo local completions bash)
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write a function, an aggregate or a projection into the app, with its test. docs/app/adding-a-function.md
    /// helps to decide.
    #[command(subcommand)]
    New(NewPart),
}

#[derive(Debug, Args)]
pub(crate) struct RunningHost {
    /// Port of the app on 127.0.0.1.
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    pub port: u16,

    /// Master key, for an app that was started with --enable-auth, which prints it.
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InvokeOptions {
    /// Name of the function.
    #[arg(value_name = "FUNCTION")]
    pub function: String,

    /// Send the example, as without any option.
    #[arg(long, conflicts_with_all = ["documents", "body", "path"])]
    pub example: bool,

    /// Documents for a Cosmos DB trigger: a JSON array, or JSON Lines. `-` reads stdin.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["body", "path"])]
    pub documents: Option<PathBuf>,

    /// Body of the request. `-` reads stdin.
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,

    /// Path and query of the request, such as /api/feed?limit=5.
    #[arg(long, value_name = "PATH")]
    pub path: Option<String>,

    #[command(flatten)]
    pub host: RunningHost,
}

#[derive(Debug, Args)]
pub(crate) struct TailOptions {
    /// Only the invocations of these functions.
    #[arg(long = "function", value_name = "NAME", num_args = 1..)]
    pub functions: Vec<String>,

    #[command(flatten)]
    pub host: RunningHost,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own for the user")]
pub(crate) struct StartOptions {
    /// Port of the HTTP functions on 127.0.0.1, instead of Host.LocalHttpPort in local.settings.json, and of
    /// 7071; 0 picks a free one.
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Port of the Cosmos DB endpoint on 127.0.0.1; 0 picks a free one.
    #[arg(long, value_name = "PORT", default_value_t = 8081)]
    pub cosmos_port: u16,

    /// Use this account or emulator instead: AccountEndpoint=…;AccountKey=….
    #[arg(long, value_name = "CONNECTION STRING", conflicts_with = "cosmos_port")]
    pub cosmos: Option<String>,

    /// Start only the Cosmos DB endpoint, with its containers. With --cosmos: create the containers
    /// there and end.
    #[arg(long, conflicts_with = "demo")]
    pub cosmos_only: bool,

    /// Physical partitions of each container of the endpoint.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub partitions: u32,

    /// Keep the data of the endpoint in this folder. The next start continues with it, also after a crash.
    #[arg(long, value_name = "DIR", conflicts_with = "cosmos")]
    pub data: Option<PathBuf>,

    /// Pause between two reads of an empty change feed, instead of each trigger's feedPollDelay.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub feed_poll_ms: Option<u64>,

    /// Load small readable data sets through the API: the demo.json of these domains, or of all. A
    /// second load adds nothing.
    #[arg(long, value_name = "DOMAIN", num_args = 0..)]
    pub demo: Option<Vec<String>>,

    /// Inject faults that Azure has now and then, such as throttle=0.05,crash=0.01,split=1. docs/chaos.md
    /// describes each kind.
    #[arg(long, value_name = "KIND=P,…", conflicts_with = "cosmos")]
    pub chaos: Option<ChaosSpec>,

    /// Seed of --chaos: the same number gives the same decisions.
    #[arg(long, value_name = "N", requires = "chaos", default_value_t = 1)]
    pub seed: u64,

    /// Build again after each change of a file, and continue with the new handler. Requests in flight are
    /// finished, and others wait. After a failed build the app keeps running.
    #[arg(long, conflicts_with = "cosmos_only")]
    pub watch: bool,

    /// Open the page in the browser as soon as it is ready.
    #[arg(long, conflicts_with = "cosmos_only")]
    pub open: bool,

    /// Print every line of the handler, a line for each invocation with its id, and the address of each
    /// function.
    #[arg(long, short)]
    pub verbose: bool,

    /// Build the handler with optimisations.
    #[arg(long)]
    pub release: bool,

    /// Ask for keys as Azure does, and print them.
    #[arg(long)]
    pub enable_auth: bool,

    /// Further names under which both ports may be called, such as host.docker.internal; * answers everyone,
    /// pages of other sites included.
    #[arg(long = "allow-host", value_name = "NAME", num_args = 1..)]
    pub allowed_hosts: Vec<String>,

    /// Folder of the app, instead of the workspace's root. A folder without a Cargo.toml must be staged
    /// already, with the executable.
    #[arg(long, value_name = "DIR")]
    pub app: Option<PathBuf>,
}

/// The name under which zsh finds the completions of `cargo local`.
const PROGRAM: &str = "cargo-local";
/// A name without a hyphen: the script for bash would write it in two ways.
const BASH_PROGRAM: &str = "cargo_local";

/// Completes the words behind `cargo local` in bash, and leaves all other words to the completion that
/// cargo had before.
const BASH_CARGO: &str = r#"
_cargo_now="$(complete -p cargo 2>/dev/null | sed -n 's/.*-F \([^ ]*\) .*/\1/p')"
[[ "$_cargo_now" == _cargo_with_local ]] || _cargo_before_local="$_cargo_now"
_cargo_with_local() {
    if [[ "${COMP_WORDS[1]}" == local && "$COMP_CWORD" -gt 1 ]]; then
        COMP_WORDS=(cargo_local "${COMP_WORDS[@]:2}")
        COMP_CWORD=$((COMP_CWORD - 1))
        _cargo_local cargo_local "$2" "$3"
    elif [[ -n "$_cargo_before_local" ]]; then
        "$_cargo_before_local" "$@"
    fi
}
complete -F _cargo_with_local -o bashdefault -o default cargo
complete -F _cargo_local -o bashdefault -o default tributary-local
"#;

const FISH_CARGO: &str = r#"
complete -c cargo -n "__fish_seen_subcommand_from local" -f -a \
    "(complete -C (string replace -r '^cargo +local' cargo-local -- (commandline -pc)))"
"#;

pub(super) fn print(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    // A name with a blank would be taken for a command and a subcommand.
    let program = if shell == Shell::Bash { BASH_PROGRAM } else { PROGRAM };
    let mut command = LocalCli::command().name(program).bin_name(program);
    clap_complete::generate(shell, &mut command, program, &mut script);
    match shell {
        Shell::Bash => script.extend_from_slice(BASH_CARGO.as_bytes()),
        Shell::Fish => script.extend_from_slice(FISH_CARGO.as_bytes()),
        // The completion of cargo itself asks `_cargo-local`.
        _ => {}
    }
    std::io::stdout().write_all(&script).context("stdout is closed")
}
