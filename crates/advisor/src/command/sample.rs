//! `tributary-partition sample`, and the draw that it shares with `monitor`.

use std::{
    collections::hash_map::RandomState,
    env,
    hash::BuildHasher,
    io::{self, BufWriter, Write, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
};

use crate::{
    live::{DrawnSample, LiveContainer, MIN_REQUEST_UNITS},
    sample::SampleItem,
    words::thousands,
};
use anyhow::{Context, bail, ensure};
use clap::Args;
use tempfile::NamedTempFile;

use super::{Progress, advise::number};

/// The environment variable with the connection, where `--cosmos` is not given. A key on the command line
/// would be in the history of the shell and in the list of processes.
const CONNECTION_VARIABLE: &str = "COSMOS_CONNECTION";

/// Draws a random sample from a live container, for `advise --items` and `monitor --items`.
///
/// It reads the whole container, or the items whose ids end in certain characters, until the request units are
/// spent, and writes them as JSON Lines. It prints how many items the container has, and the command to run next.
/// Ctrl-C leaves no file. Where the account has priorities, all requests have the low one.
///
/// Exit code: 0; 2 when there is no sample.
#[derive(Debug, Args)]
pub(crate) struct SampleArguments {
    /// The name of the container.
    #[arg(long, value_name = "NAME")]
    container: String,

    #[command(flatten)]
    draw: DrawArguments,

    /// The file for the items, JSON Lines. There must be none of this name.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// The account, and the bounds of a draw.
#[derive(Debug, Args)]
pub(crate) struct DrawArguments {
    /// The account: `AccountEndpoint=…;AccountKey=…;`, or its URL to be reached with the identity that
    /// is signed in. Better than a key on the command line: the environment variable COSMOS_CONNECTION.
    #[arg(long, value_name = "CONNECTION")]
    cosmos: Option<String>,

    /// The database.
    #[arg(long, value_name = "NAME", default_value = "tributary")]
    database: String,

    /// The most request units of the sample.
    #[arg(long, value_name = "RU", default_value_t = 5_000.0, value_parser = request_units)]
    max_request_units: f64,

    /// The seed of the draw. The same seed draws the same sample; without one it is random.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn request_units(text: &str) -> Result<f64, String> {
    let units = number(text).ok().filter(|units| *units >= MIN_REQUEST_UNITS);
    units.ok_or_else(|| format!("write a number of request units from {MIN_REQUEST_UNITS} on"))
}

impl DrawArguments {
    pub(super) async fn open(&self, container: &str) -> anyhow::Result<LiveContainer> {
        let connection = self.cosmos.clone().or_else(|| env::var(CONNECTION_VARIABLE).ok());
        let connection = connection.with_context(|| {
            format!(
                "no account: give --cosmos, or set {CONNECTION_VARIABLE}, to a connection string or a URL"
            )
        })?;
        LiveContainer::open(&connection, &self.database, container).await
    }

    pub(super) async fn draw(
        &self,
        container: &LiveContainer,
        mut keep: impl FnMut(Vec<SampleItem>) -> io::Result<()>,
    ) -> anyhow::Result<DrawnSample> {
        let seed = self.seed.unwrap_or_else(|| RandomState::new().hash_one(0));
        let progress = Progress::default();
        let keep = |items, drawn: &DrawnSample| {
            progress.show(&format!("{} items, {:.0} RU", drawn.items, drawn.request_units));
            keep(items)
        };
        let drawn = container.draw(self.max_request_units, seed, keep).await?;
        let units = drawn.request_units;
        ensure!(
            drawn.items > 0 || !drawn.is_complete,
            "the container is empty, or none of its items can be read ({} cannot; {units:.2} request units were spent)",
            drawn.unreadable
        );
        ensure!(
            drawn.items > 0,
            "no item was found for {units:.2} request units; raise --max-request-units"
        );
        Ok(drawn)
    }
}

pub(super) fn block_on<T>(draw: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("no thread can be started")?.block_on(async {
        tokio::select! {
            result = draw => result,
            // Dropping the future deletes the temporary file.
            _ = tokio::signal::ctrl_c() => bail!("interrupted: no sample was written"),
        }
    })
}

pub(crate) fn run(arguments: &SampleArguments) -> anyhow::Result<ExitCode> {
    block_on(async {
        let path = &arguments.output;
        let written = || format!("{} cannot be written", path.display());
        ensure!(
            path.symlink_metadata().is_err(),
            "{} is there already: write to another file",
            path.display()
        );
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // It has a temporary name until it is complete, and is deleted if it never is.
        let file = NamedTempFile::new_in(folder.unwrap_or(Path::new(".")));
        let mut file = BufWriter::new(file.with_context(written)?);
        let container = arguments.draw.open(&arguments.container).await?;
        let keep = |items: Vec<SampleItem>| {
            items.iter().try_for_each(|item| writeln!(file, "{}", item.value))
        };
        let drawn = arguments.draw.draw(&container, keep).await?;
        let file = file.into_inner().with_context(written)?;
        file.as_file().sync_all().with_context(written)?;
        file.persist_noclobber(path).with_context(written)?;
        // The sample is complete: a closed stream is not an error.
        let _ = stdout().write_all(summary(&drawn, &container, arguments).as_bytes());
        Ok(ExitCode::SUCCESS)
    })
}

fn summary(drawn: &DrawnSample, container: &LiveContainer, arguments: &SampleArguments) -> String {
    let DrawArguments { database, max_request_units, .. } = &arguments.draw;
    let name = &arguments.container;
    let (share, sampled) = if drawn.is_complete {
        ("all".to_owned(), String::new())
    } else {
        let all = drawn.items_in_container();
        let share = format!("about {:.3} %", drawn.share * 100.0);
        (share, format!(" --items-in-container {all} --sampled items"))
    };
    let mut text = format!(
        "{} items of {database}/{name}: {share} of the container, for {:.2} of at most {max_request_units} request \
         units in {} requests.\n",
        thousands(drawn.items),
        drawn.request_units,
        drawn.requests,
    );
    if drawn.unreadable > 0 {
        let n = drawn.unreadable;
        text = format!(
            "{text}{n} items cannot be read, or are larger than 2 MB, and are not in the sample.\n"
        );
    }
    let words = [&*arguments.output.to_string_lossy(), name, &container.key.to_string()];
    let [items, name, key] = words.map(quoted);
    text + &format!(
        "The file has the data of your users as it is.\n\nNext, with your requests:\n  tributary-partition advise \
         --items {items} --requests requests.jsonl --container {name} --current {key}{sampled}\n"
    )
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/.,_-+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
