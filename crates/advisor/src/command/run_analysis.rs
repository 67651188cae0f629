//! The pass of `advise` over the items.

use std::{
    io::{self, BufRead, BufReader, IsTerminal, Read, Write},
    path::PathBuf,
};

use anyhow::{Context, bail, ensure};
use cosmos_model::partitioning::{FilterCondition, KeyStrategy, strategy::MAX_KEY_LEVELS};
use tributary_partition::{
    CandidateReport, Estimates, SampleCounts, ValidationOptions,
    advice::{Advice, AdviceQuestion},
    findings,
    propose::{part, propose, time_of_creation},
    request::{RequestFilter, RequestOperation},
    sample::{self, SampleItem, SampleProgress},
};

use super::{
    advise_arguments::{AdviseArguments, SampledBy},
    input::{self, AdviseInput},
    properties::NamedProperties,
};

/// Kinds of reads for which a second copy is measured.
const MAX_COPIED_READS: usize = 8;

/// The path that stands for stdin.
const STDIN: &str = "-";

/// A source of items: its name and its text.
type ItemSource = (String, Box<dyn BufRead>);

pub(crate) fn run(input: &AdviseInput, arguments: &AdviseArguments) -> anyhow::Result<Advice> {
    let (part, sources) = open(&arguments.items)?;
    let mut properties = named(&part, input, arguments);
    let options = ValidationOptions {
        time: arguments.time.clone().or_else(|| time_of_creation(&part)),
        current: input.current.clone(),
        reads: input.reads.clone(),
        items_in_container: arguments.items_in_container,
        whole_keys: whole_keys(input, arguments)?,
        items_per_day: arguments.items_per_day,
        physical_partitions: arguments.physical_partitions,
        indexing_policy: input.indexing_policy.clone(),
        ..ValidationOptions::default()
    };
    let mut candidates = arguments.candidate.clone();
    if candidates.is_empty() {
        candidates = propose(&part, &input.requests, &options, usize::from(arguments.most));
    }
    candidates.extend(input.current.clone());
    let mut seen = std::collections::HashSet::new();
    candidates.retain(|candidate| seen.insert(candidate.clone()));
    if candidates.is_empty() {
        // An item that cannot be read is the first error to report.
        analyse(Vec::new(), input, options, sources, &mut properties)?;
        bail!("the items have no property of which a key can be made: name one by --candidate");
    }
    let n_candidates = candidates.len();
    // Keys of which a second copy may be made for a request that does not fit.
    candidates.extend(copies(input).into_iter().filter(|copy| seen.insert(copy.clone())));
    drop(part);

    let mut reports = analyse(candidates, input, options, sources, &mut properties)?;
    let others = reports.split_off(n_candidates.min(reports.len()));
    let question = AdviceQuestion {
        requests: input.requests.clone(),
        current: input.current.clone(),
        container: arguments.container.clone().unwrap_or_else(|| "items".to_owned()),
        items_in_container: arguments.items_in_container,
        has_given_partitions: arguments.physical_partitions.is_some(),
        unique: arguments.unique.clone(),
    };
    let mut advice = Advice::new(reports, &others, &question).context("the sample has no items")?;
    advice.unknown.extend(properties.rare());
    Ok(advice)
}

/// Returns the properties that the requests, the given keys and the options name.
fn named(part: &[SampleItem], input: &AdviseInput, arguments: &AdviseArguments) -> NamedProperties {
    let mut properties = NamedProperties::new(part);
    for request in &input.requests {
        properties.name_in_request(request, arguments.requests.is_some());
    }
    for key in arguments.candidate.iter().chain(&input.current) {
        properties.name_in_key(key);
    }
    for unique in &arguments.unique {
        for path in unique.paths() {
            properties.name(path, "--unique");
        }
    }
    if let Some(time) = &arguments.time {
        properties.name(time, "--time");
    }
    properties
}

/// Returns the key of which whole values were drawn, where the items are such a sample.
fn whole_keys(
    input: &AdviseInput,
    arguments: &AdviseArguments,
) -> anyhow::Result<Option<KeyStrategy>> {
    match &arguments.sampled {
        None => {
            ensure!(
                arguments.items_in_container.is_none(),
                "--items-in-container: say by --sampled how the file was drawn from the container. `items`: each \
                 item at random; `keys`: whole logical partitions of --current; /userId: whole values of it"
            );
            Ok(None)
        }
        Some(SampledBy::Items) => Ok(None),
        Some(SampledBy::KeysOf(key)) => Ok(Some(key.clone())),
        Some(SampledBy::Keys) => {
            let current = input.current.clone();
            let current = current.context("--sampled keys: give the key by --current")?;
            Ok(Some(current))
        }
    }
}

fn analyse(
    candidates: Vec<KeyStrategy>,
    input: &AdviseInput,
    options: ValidationOptions,
    sources: Vec<ItemSource>,
    properties: &mut NamedProperties,
) -> anyhow::Result<Vec<CandidateReport>> {
    let in_container = options.items_in_container;
    let mut counts = SampleCounts::new(candidates, input.requests.clone(), options);
    let mut n_items = 0;
    let mut n_bytes = 0;
    for (name, from) in sources {
        let before = SampleProgress { items: n_items, bytes: n_bytes };
        let read = sample::read(from, |items, progress| {
            counts.add(items);
            properties.add(items);
            show(before.items + progress.items, before.bytes + progress.bytes);
        });
        let read = read.with_context(|| name.clone())?;
        n_items += read.items;
        n_bytes += read.bytes;
    }
    clear();
    if n_items == 0 {
        bail!("the sample has no items: write one JSON object a line");
    }
    if let Some(in_container) = in_container.filter(|&in_container| in_container < n_items) {
        bail!(
            "--items-in-container={in_container} is less than the {n_items} items of the sample: give the number \
             of all items"
        );
    }
    properties.check()?;
    Ok(findings::find(Estimates::new(&counts)))
}

/// Returns a part of the sample, and all of it.
fn open(paths: &[PathBuf]) -> anyhow::Result<(Vec<SampleItem>, Vec<ItemSource>)> {
    let n_stdin = paths.iter().filter(|path| path.as_os_str() == STDIN).count();
    ensure!(n_stdin < 2, "stdin, `{STDIN}`, can be read once");
    let mut part = Vec::new();
    let mut sources: Vec<ItemSource> = Vec::new();
    for path in paths {
        if path.as_os_str() == STDIN {
            let mut stdin = io::stdin().lock();
            let (text, items) = part::part_of_stream(&mut stdin).context("stdin cannot be read")?;
            part.extend(items);
            sources.push(("stdin".to_owned(), Box::new(io::Cursor::new(text).chain(stdin))));
        } else {
            let unreadable = || format!("{} cannot be read", path.display());
            let mut file = input::open(path)?;
            let is_file = file.metadata().with_context(unreadable)?.is_file();
            if is_file {
                part.extend(part::part_of_file(&mut file).with_context(unreadable)?);
            }
            let mut reader = BufReader::with_capacity(1 << 20, file);
            let start = if is_file {
                Vec::new()
            } else {
                // A pipe can be read once.
                let (text, items) = part::part_of_stream(&mut reader).with_context(unreadable)?;
                part.extend(items);
                text
            };
            let all = io::Cursor::new(start).chain(reader);
            sources.push((path.display().to_string(), Box::new(all)));
        }
    }
    Ok((part, sources))
}

/// Returns two keys for each kind of read: the properties that it compares, and the same with the month of
/// the time whose range it asks for.
fn copies(input: &AdviseInput) -> Vec<KeyStrategy> {
    let is_range = |wanted: &RequestFilter| {
        matches!(wanted, RequestFilter::Last(_) | RequestFilter::Fixed(FilterCondition::Range(_)))
    };
    let reads = input.requests.iter().filter(|request| {
        matches!(request.operation, RequestOperation::Query | RequestOperation::Read)
    });
    let keys = reads.take(MAX_COPIED_READS).flat_map(|request| {
        let equal = request.filters.iter().filter(|(_, wanted)| !is_range(wanted));
        let equal: Vec<_> = equal.take(MAX_KEY_LEVELS).map(|(path, _)| path.to_string()).collect();
        let range = request.filters.iter().find(|(_, wanted)| is_range(wanted));
        let month = range.filter(|_| !equal.is_empty());
        let by_month = month.map(|(path, _)| format!("{}+{path} by month", equal.join("+")));
        [Some(equal.join(",")), by_month]
    });
    keys.flatten().filter_map(|key| key.parse().ok()).collect()
}

/// Shows the progress on a terminal. A closed stderr is not an error.
fn show(items: u64, bytes: u64) {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r{items} items, {} MB ", bytes / 1_000_000);
    }
}

fn clear() {
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        let _ = write!(stderr, "\r\u{1b}[K");
    }
}
