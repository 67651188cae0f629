//! `tributary audit`: the command line.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use super::{
    Options, audit,
    report::{Format, Report},
};
use crate::{
    blog::Blog,
    config::{Config, Settings},
    cosmos::Cosmos,
};

/// What `tributary --help` and `tributary audit --help` print.
const HELP: &str = "\
The handler of the Tributary function app.

Usage:
  tributary            Serve the Functions host, which starts it so
  tributary audit      Report whatever is kept twice and does not say the same

Options of audit:
  --repair             Mend what is found, each with a guarded write
  --json               One JSON object a line: the findings, then the summary
  --settle <SECONDS>   How long the change feed may take to bring a change to every copy
                       before a difference counts [default: 20]
  -h, --help           Print this

Settings, as environment variables: CosmosConnection (a connection string) or
CosmosConnection__accountEndpoint (with an identity), CosmosDatabase [default: tributary].

Exit code: 0 nothing found, or everything mended; 1 divergences found; 2 the audit failed.
docs/audit.md says what each kind of finding means.
";

/// Nothing found, or everything mended.
const CLEAN: u8 = 0;
/// Divergences found, or some not mended.
const DIVERGES: u8 = 1;
/// The audit itself failed.
const FAILED: u8 = 2;

/// The longest pause that makes sense, in seconds: a day.
const LONGEST_SETTLE: f64 = 86_400.0;

/// What the command line asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wish {
    options: Options,
    json: bool,
    help: bool,
}

/// Runs `tributary audit` with the arguments that follow.
pub async fn run(arguments: impl Iterator<Item = String>) -> ExitCode {
    let result = match parse(arguments) {
        Ok(Wish { help: true, .. }) => {
            help();
            Ok(CLEAN)
        }
        Ok(wish) => report(wish).await,
        Err(error) => Err(error),
    };
    result.map_or_else(fail, ExitCode::from)
}

/// Says what the command line takes.
pub fn help() {
    // Who does not listen needs no help.
    let _ = io::stdout().write_all(HELP.as_bytes());
}

/// Says in one sentence why the process cannot do its work.
pub fn fail(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("tributary: {error}");
    ExitCode::from(FAILED)
}

async fn report(wish: Wish) -> Result<u8, String> {
    let config = Config::read(Settings::ENVIRONMENT).map_err(|error| error.to_string())?;
    let cosmos: Arc<Cosmos> = config.cosmos.into();
    let format = match (wish.json, io::stdout().is_terminal()) {
        (true, _) => Format::Json,
        (false, true) if no_color() => Format::Plain,
        (false, true) => Format::Colours,
        (false, false) => Format::Plain,
    };
    let mut report = Report::new(io::stdout(), io::stderr(), format);
    let summary = audit(&Blog::new(&cosmos), wish.options, &mut report).await.map_err(|error| {
        format!(
            "the audit could not go on, since the store refused a request ({:?}): check that it \
             can be reached and has request units left, and audit again",
            error.reason
        )
    })?;
    report.end(&summary).map_err(|error| format!("the report cannot be written: {error}"))?;
    Ok(if summary.is_clean() { CLEAN } else { DIVERGES })
}

fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Wish, String> {
    let mut wish = Wish { options: Options::default(), json: false, help: false };
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--repair" => wish.options.repair = true,
            "--json" => wish.json = true,
            "-h" | "--help" => wish.help = true,
            "--settle" => wish.options.settle = seconds(arguments.next().as_deref())?,
            other => match other.strip_prefix("--settle=") {
                Some(text) => wish.options.settle = seconds(Some(text))?,
                None => {
                    return Err(format!(
                        "audit has no option {other:?}: `tributary audit --help` lists them"
                    ));
                }
            },
        }
    }
    Ok(wish)
}

fn seconds(text: Option<&str>) -> Result<Duration, String> {
    text.and_then(|text| text.parse::<f64>().ok())
        .filter(|seconds| (0.0..=LONGEST_SETTLE).contains(seconds))
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "--settle must be followed by a number of seconds, 0 to 86400".into())
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Wish, String> {
        parse(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn options_come_in_any_order() {
        let wish = parsed(&["--settle", "0.5", "--json", "--repair"]).unwrap();
        assert_eq!(wish, parsed(&["--repair", "--json", "--settle=0.5"]).unwrap());
        assert_eq!(wish.options, Options { settle: Duration::from_millis(500), repair: true });
        assert!(!parsed(&[]).unwrap().options.repair);
        assert!(parsed(&["-h"]).unwrap().help);
    }

    #[test]
    fn a_bad_argument_is_named() {
        for (arguments, named) in [
            (&["--fix"][..], "--fix"),
            (&["audit"], "audit"),
            (&["--settle"], "--settle"),
            (&["--settle", "soon"], "--settle"),
            (&["--settle", "-1"], "--settle"),
            (&["--settle", "nan"], "--settle"),
            (&["--settle=1e99"], "--settle"),
        ] {
            let message = parsed(arguments).unwrap_err();
            assert!(message.contains(named), "{message}");
        }
    }

    proptest! {
        #[test]
        fn no_arguments_make_the_parser_panic(arguments in vec(".*|--settle|--json", 0..5)) {
            let _ = parse(arguments.into_iter());
        }
    }
}
