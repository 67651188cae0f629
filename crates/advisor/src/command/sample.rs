//! `tributary-partition sample`.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    io::{self, BufWriter, IsTerminal, Seek, SeekFrom, Write, stderr, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail, ensure};
use clap::{Args, ValueEnum};
use tempfile::NamedTempFile;
use tributary_partition::monitor::{
    DrawSettings, DrawUnit, DrawnSample, LiveContainer, MIN_REQUEST_UNITS, SampleStep,
};
use tributary_tools::figures::thousands;

use super::{live_container::ContainerArguments, monitor::say};

/// Draws a random sample from a live container, for `advise --items`.
///
/// It reads whole keys (or items) until the request units are spent, and writes them as JSON Lines. It prints how
/// many items the container has, and the command to run next. Ctrl-C leaves no file. Where the account has
/// priorities, all requests have the low one.
///
/// Exit code: 0; 1 when a key was too large for the request units, and is missing; 2 when there is no sample.
#[derive(Debug, Args)]
pub(crate) struct SampleArguments {
    #[command(flatten)]
    live: ContainerArguments,

    /// The unit of the draw: whole keys, each with all its items (of a hierarchical key, whole values of
    /// its first level); or single items, by the ends of their ids.
    #[arg(long, value_enum, default_value_t = DrawnUnit::Keys)]
    draw: DrawnUnit,

    /// The most request units of the sample.
    #[arg(long, value_name = "RU", default_value_t = 5_000.0, value_parser = request_units)]
    max_request_units: f64,

    /// The seed of the draw. The same seed draws the same sample; without one it is random, and printed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The file for the items, JSON Lines; `-` is stdout.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,

    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DrawnUnit {
    Keys,
    Items,
}

/// Parses a bound that is enough for a few pages.
fn request_units(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|units: &f64| units.is_finite());
    number
        .filter(|units| *units >= MIN_REQUEST_UNITS)
        .ok_or_else(|| format!("write a number of request units from {MIN_REQUEST_UNITS} on"))
}

pub(crate) fn run(arguments: &SampleArguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("no thread can be started")?;
    runtime.block_on(async {
        tokio::select! {
            code = sample(arguments) => code,
            // Dropping the future deletes the temporary file.
            _ = tokio::signal::ctrl_c() => bail!("interrupted: no sample was written"),
        }
    })
}

async fn sample(arguments: &SampleArguments) -> anyhow::Result<ExitCode> {
    let mut output = SampleFile::new(&arguments.output, arguments.force)?;
    let container = arguments.live.open().await?;
    let unit = match arguments.draw {
        DrawnUnit::Keys => DrawUnit::Keys,
        DrawnUnit::Items => DrawUnit::Items,
    };
    let seed = arguments.seed.unwrap_or_else(|| RandomState::new().hash_one(unit as u8));
    let draw = DrawSettings { unit, request_units: arguments.max_request_units, seed };
    let is_seen = stderr().is_terminal();
    let mut shown = 0;
    let step = |step: SampleStep<'_>, drawn: &DrawnSample| {
        if is_seen && shown < drawn.requests {
            shown = drawn.requests;
            let items = drawn.items;
            let units = drawn.request_units;
            let _ = write!(stderr(), "\r{items} items, {units:.0} request units ");
        }
        output.take(step)
    };
    let drawn = container.draw(draw, step).await;
    if is_seen {
        let _ = write!(stderr(), "\r\x1b[K");
    }
    let drawn = drawn?;
    ensure!(drawn.items > 0, "{}", empty_sample_reason(&drawn));
    let text = summary(&drawn, &container, draw, arguments);
    let is_stdout = output.is_stdout();
    output.finish()?;
    if is_stdout {
        say(text.trim_end());
    } else {
        // A closed stdout is not an error: the sample is complete.
        let _ = stdout().write_all(text.as_bytes());
    }
    Ok(ExitCode::from(u8::from(drawn.left_out.is_some())))
}

/// Returns the reason for a missing sample.
fn empty_sample_reason(drawn: &DrawnSample) -> String {
    let units = drawn.request_units;
    match &drawn.left_out {
        Some(left_out) => format!(
            "no key is small enough for --max-request-units: {} has at least {} items, and {units:.2} request \
             units were spent; a sample without it would say nothing about it. Raise --max-request-units, or draw \
             items with --draw items",
            left_out.largest.0,
            thousands_of(left_out.largest.1)
        ),
        None if drawn.is_complete => format!(
            "the container is empty, or none of its items can be read ({} cannot; {units:.2} request units were spent)",
            drawn.unreadable
        ),
        None => {
            format!("no item was found for {units:.2} request units; raise --max-request-units")
        }
    }
}

/// Returns a description of the sample, and the command to run next.
fn summary(
    drawn: &DrawnSample,
    container: &LiveContainer,
    draw: DrawSettings,
    arguments: &SampleArguments,
) -> String {
    let mut text = format!(
        "{} items of {} keys of {}: {} of the container, for {:.2} of at most {} request units in {} requests. \
         The seed was {}.\n",
        thousands_of(drawn.items),
        thousands_of(drawn.keys),
        arguments.live,
        if drawn.is_complete {
            "all".to_owned()
        } else {
            format!("about {:.3} %", drawn.share * 100.0)
        },
        drawn.request_units,
        draw.request_units,
        drawn.requests,
        draw.seed,
    );
    if let Some(left_out) = &drawn.left_out {
        text = format!(
            "{text}Not in the sample: {} has at least {} items, more than the request units pay for, and at least {} items \
             of keys with hashes near it. A key is drawn whole or not at all, so the sample says nothing about \
             large keys. Raise --max-request-units, or draw items.\n",
            left_out.largest.0,
            thousands_of(left_out.largest.1),
            thousands_of(left_out.items - left_out.largest.1),
        );
    }
    if drawn.unreadable > 0 {
        text = format!(
            "{text}{} items cannot be read, or are larger than 2 MB, and are not in the sample.\n",
            drawn.unreadable
        );
    }
    text += "The file has the data of your users as it is.\n\nNext, with your requests:\n  ";
    text += &command(drawn, container, draw.unit, &arguments.output);
    text + "\n"
}

/// Returns the command that takes the sample.
fn command(
    drawn: &DrawnSample,
    container: &LiveContainer,
    unit: DrawUnit,
    output: &Path,
) -> String {
    let paths = container.paths();
    let key = quoted(&paths.join(","));
    let file = quoted(&output.to_string_lossy());
    let name = quoted(container.id());
    let mut command = format!(
        "tributary-partition advise --items {file} --requests requests.jsonl --container {name} --current {key}"
    );
    if !drawn.is_complete {
        let sampled = match (unit, paths) {
            (DrawUnit::Items, _) => "items".to_owned(),
            (DrawUnit::Keys, [_]) => "keys".to_owned(),
            (DrawUnit::Keys, levels) => quoted(levels.first().map_or("", String::as_str)),
        };
        let all = drawn.items_in_container();
        command = format!("{command} --items-in-container {all} --sampled {sampled}");
    }
    command
}

/// Returns a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/.,_-+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn thousands_of(n: u64) -> String {
    thousands(usize::try_from(n).unwrap_or(usize::MAX))
}

/// The file of the sample. It has a temporary name until it is complete, and is deleted if it never is.
struct SampleFile {
    file: BufWriter<NamedTempFile>,
    /// Bytes of the portions that were kept.
    kept: u64,
    /// `None` for stdout.
    path: Option<PathBuf>,
    force: bool,
}

impl SampleFile {
    /// Creates the file, or refuses it before any request unit is spent.
    fn new(path: &Path, force: bool) -> anyhow::Result<Self> {
        let is_stdout = path == Path::new("-");
        ensure!(!path.is_dir(), "{} is a folder; --output takes a file", path.display());
        ensure!(
            is_stdout || force || path.symlink_metadata().is_err(),
            "{} is there already; write to another file, or replace it with --force",
            path.display()
        );
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = if is_stdout {
            NamedTempFile::new()
        } else {
            NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))
        };
        let file = file.with_context(|| format!("{} cannot be written", path.display()))?;
        let path = (!is_stdout).then(|| path.to_owned());
        Ok(Self { file: BufWriter::new(file), kept: 0, path, force })
    }

    fn is_stdout(&self) -> bool {
        self.path.is_none()
    }

    fn take(&mut self, step: SampleStep<'_>) -> io::Result<()> {
        match step {
            SampleStep::Item(item) => {
                serde_json::to_writer(&mut self.file, item)?;
                self.file.write_all(b"\n")
            }
            SampleStep::Keep => {
                self.kept = self.file.stream_position()?;
                Ok(())
            }
            SampleStep::Drop => {
                self.file.seek(SeekFrom::Start(self.kept))?;
                self.file.get_ref().as_file().set_len(self.kept)
            }
        }
    }

    /// Gives the file its name, or prints it.
    fn finish(mut self) -> anyhow::Result<()> {
        self.take(SampleStep::Drop).context("the sample cannot be written")?;
        let mut file = self.file.into_inner().context("the sample cannot be written")?;
        let Some(path) = self.path else {
            file.as_file_mut().rewind()?;
            return match io::copy(file.as_file_mut(), &mut stdout().lock()) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    Err(error).context("the sample cannot be printed")
                }
                _ => Ok(()),
            };
        };
        file.as_file().sync_all().context("the sample cannot be written")?;
        let named = if self.force { file.persist(&path) } else { file.persist_noclobber(&path) };
        named.with_context(|| format!("{} cannot be written", path.display()))?;
        Ok(())
    }
}
