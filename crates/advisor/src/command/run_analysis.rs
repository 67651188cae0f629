//! The pass of `advise` over the items.

use std::{
    collections::HashSet,
    fs::File,
    io::{BufReader, BufWriter, Read, Seek, Write},
    path::{Path, PathBuf},
};

use crate::{
    SampleCounts, ValidationOptions,
    advice::{Advice, AdviceQuestion},
    findings,
    propose::{ItemProfile, part_of_file, propose, time_of_creation},
    sample::{self, SampleItem},
    source,
};
use anyhow::{Context, bail, ensure};
use cosmos_model::partitioning::{KeyStrategy, strategy::MAX_KEY_LEVELS};
use serde_json::Value;

use super::{Progress, advise::AdviseArguments, input, properties::NamedProperties};

const MAX_COPIED_READS: usize = 8;

pub(crate) fn run(
    question: &AdviceQuestion,
    arguments: &AdviseArguments,
) -> anyhow::Result<Advice> {
    let mut files = open(&arguments.items)?;
    let mut part = Vec::new();
    for (name, file) in &mut files {
        part.extend(part_of_file(file).with_context(|| format!("{name} cannot be read"))?);
    }
    let profile = ItemProfile::new(&part);
    let options = ValidationOptions {
        time: arguments.time.clone().or_else(|| time_of_creation(&profile)),
        items_in_container: arguments.items_in_container,
        whole_keys: whole_keys(question, arguments)?,
        items_per_day: arguments.items_per_day,
        physical_partitions: arguments.physical_partitions,
        indexing_policy: question.indexing_policy.clone(),
    };
    let mut candidates = arguments.candidate.clone();
    if candidates.is_empty() {
        candidates = propose(&part, &question.requests, &options);
    }
    drop(part);
    candidates.extend(question.current.clone());
    let mut seen = HashSet::new();
    candidates.retain(|candidate| seen.insert(candidate.clone()));
    let n_candidates = candidates.len();
    // Keys of which a second copy may be made for a request that does not fit.
    candidates.extend(copies(question).into_iter().filter(|copy| seen.insert(copy.clone())));

    let mut properties = NamedProperties::new(question, arguments);
    let counts_of = |candidates: &[KeyStrategy]| {
        SampleCounts::new(candidates.to_vec(), question.requests.clone(), options.clone())
    };
    let halves = if options.items_in_container.is_some() { 0..2 } else { 0..0 };
    let halves = halves.map(|half| counts_of(&candidates[..n_candidates]).of_half(half));
    let mut counts: Vec<_> = std::iter::once(counts_of(&candidates)).chain(halves).collect();
    let n_items = read(files, |items| {
        for counts in &mut counts {
            counts.add(items);
        }
        properties.count(items);
    })?;
    ensure!(n_items > 0, "the sample has no items: write one JSON object a line");
    if let Some(in_container) = arguments.items_in_container.filter(|all| *all < n_items) {
        bail!(
            "--items-in-container={in_container} is less than the {n_items} items of the sample: give the number \
             of all items"
        );
    }
    properties.check(&profile)?;
    let is_sample = arguments.items_in_container > Some(n_items);
    let halves = counts[1..].iter().filter(|_| is_sample);
    let halves: Vec<_> = halves.map(findings::reports).collect();
    let mut reports = findings::reports(&counts[0]);
    let others = reports.split_off(n_candidates);
    let mut advice = Advice::new(reports, &others, &halves, question).context(
        "the items have no property of which a key can be made: name one by --candidate",
    )?;
    advice.unknown.extend(properties.rare());
    Ok(advice)
}

pub(crate) fn read(
    files: Vec<(String, File)>,
    mut each: impl FnMut(&[SampleItem]),
) -> anyhow::Result<u64> {
    let progress = Progress::default();
    let mut n_items = 0;
    for (name, file) in files {
        let read = sample::read(BufReader::with_capacity(1 << 20, file), |items| {
            each(items);
            n_items += items.len() as u64;
            progress.show(&format!("{n_items} items"));
        });
        read.with_context(|| name)?;
    }
    Ok(n_items)
}

/// Opens files of items. What is not a file of JSON Lines, such as a pipe, is copied into a temporary one.
pub(crate) fn open(paths: &[PathBuf]) -> anyhow::Result<Vec<(String, File)>> {
    let open = |path: &PathBuf| {
        let is_stdin = path == Path::new("-");
        let path = if is_stdin { Path::new("/dev/stdin") } else { path };
        let name = path.display().to_string();
        let file = lines(input::open(path)?).with_context(|| name.clone())?;
        Ok((name, file))
    };
    paths.iter().map(open).collect()
}

fn lines(mut file: File) -> anyhow::Result<File> {
    let mut head = [0; 2];
    if file.metadata()?.is_file() {
        file.read(&mut head).context("cannot be read")?;
        file.rewind()?;
    }
    if head[0] == b'{' && !head[1].is_ascii_whitespace() {
        return Ok(file);
    }
    let mut copy = BufWriter::new(tempfile::tempfile()?);
    let text = source::text(BufReader::new(file))?;
    source::objects(text, |item| Ok(writeln!(copy, "{}", Value::Object(item))?))?;
    let mut copy = copy.into_inner()?;
    copy.rewind()?;
    Ok(copy)
}

fn whole_keys(
    question: &AdviceQuestion,
    arguments: &AdviseArguments,
) -> anyhow::Result<Option<KeyStrategy>> {
    ensure!(
        arguments.sampled.is_some() || arguments.items_in_container.is_none(),
        "--items-in-container: say by --sampled how the file was drawn from the container. `items`: each \
         item at random; `keys`: whole logical partitions of --current; /userId: whole values of it"
    );
    let current = || question.current.clone().context("--sampled keys: give the key by --current");
    match arguments.sampled.as_deref() {
        None | Some("items") => Ok(None),
        Some("keys") => current().map(Some),
        Some(key) => key.parse().map(Some).ok().context(
            "--sampled: write items, keys, or the key of which whole values were drawn, such as /userId",
        ),
    }
}

/// Returns for each read the properties that it compares, and the same with the month of its range.
fn copies(question: &AdviceQuestion) -> Vec<KeyStrategy> {
    let reads = question.requests.iter().filter(|request| request.operation.is_read());
    let keys = reads.take(MAX_COPIED_READS).flat_map(|request| {
        let (ranges, equal): (Vec<_>, Vec<_>) =
            request.filters.iter().partition(|(_, wanted)| wanted.is_range());
        let equal = equal.into_iter().take(MAX_KEY_LEVELS).map(|(path, _)| path.to_string());
        let equal: Vec<_> = equal.collect();
        let range = ranges.first().filter(|_| !equal.is_empty());
        let by_month = range.map(|(path, _)| format!("{}+{path} by month", equal.join("+")));
        [Some(equal.join(",")), by_month]
    });
    keys.flatten().filter_map(|key| key.parse().ok()).collect()
}
