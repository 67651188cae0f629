//! The files that `advise` reads beside the items.

use std::{
    fs::{self, File},
    io::BufReader,
    path::{Path, PathBuf},
};

use crate::{RequestKind, advice::AdviceQuestion, traffic::Traffic};
use anyhow::{Context, bail};
use cosmos_model::charges::policy::IndexingPolicy;
use cosmos_model::partitioning::KeyStrategy;
use serde_json::Value;

use super::advise::AdviseArguments;

pub(crate) fn question(arguments: &AdviseArguments) -> anyhow::Result<AdviceQuestion> {
    let requests = arguments.requests.as_deref().map(requests).transpose()?;
    let container = arguments.container.as_deref();
    let mut question = AdviceQuestion {
        requests: requests.unwrap_or_default(),
        current: arguments.current.clone(),
        container: container.unwrap_or("items").to_owned(),
        items_in_container: arguments.items_in_container,
        unique: arguments.unique.clone(),
        ..AdviceQuestion::default()
    };
    if let (Some(path), Some(name)) = (&arguments.containers, container) {
        let (key, policy) = definition(path, name)?;
        question.indexing_policy = policy;
        question.current.get_or_insert(key);
    }
    if !arguments.traffic.is_empty() {
        let traffic = Traffic::new(container, arguments.days, arguments.notation);
        let traffic = read(traffic, &arguments.traffic)?;
        add_traffic(&mut question, &traffic, arguments).context("--traffic")?;
    }
    Ok(question)
}

fn add_traffic(
    question: &mut AdviceQuestion,
    traffic: &Traffic,
    arguments: &AdviseArguments,
) -> anyhow::Result<()> {
    let mut measured = traffic.measured()?;
    if arguments.requests.is_none() {
        question.requests = traffic.requests(question.current.as_ref())?;
    }
    let others = traffic.frequencies(&mut question.requests)?;
    if !others.is_empty() {
        measured.notes.push(format!(
            "No request of --requests is named as these functions, so their calls are not counted: {}.",
            others.join(", ")
        ));
    }
    question.traffic = Some(measured);
    Ok(())
}

pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

pub(crate) fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("{} cannot be read", path.display()))
}

pub(crate) fn read(mut traffic: Traffic, paths: &[PathBuf]) -> anyhow::Result<Traffic> {
    for path in paths {
        let file = BufReader::new(open(path)?);
        traffic.read(file).with_context(|| path.display().to_string())?;
    }
    Ok(traffic)
}

fn requests(path: &Path) -> anyhow::Result<Vec<RequestKind>> {
    let mut requests: Vec<RequestKind> = Vec::new();
    let text = text(path)?;
    let lines = text.trim_start_matches('\u{feff}').lines().enumerate();
    for (n, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let place = || format!("{}, line {}", path.display(), n + 1);
        let request = RequestKind::read(line).with_context(place)?;
        if requests.iter().any(|other| other.kind == request.kind) {
            bail!(
                "{}: the kind \"{}\" is there already; give each its own name",
                place(),
                request.kind
            );
        }
        requests.push(request);
    }
    if requests.is_empty() {
        bail!(
            "{} has no request: write one a line, such as {{\"kind\": \"posts of a user\", \"operation\": \
             \"query\", \"filters\": {{\"/userId\": \"?\"}}, \"frequency\": {{\"perDay\": 12000}}}}",
            path.display()
        );
    }
    Ok(requests)
}

fn definition(path: &Path, name: &str) -> anyhow::Result<(KeyStrategy, IndexingPolicy)> {
    let of_another_form = || format!("{} is not as infra/containers.json", path.display());
    let file: Value = serde_json::from_str(&text(path)?).with_context(of_another_form)?;
    let containers = file["containers"].as_array().with_context(of_another_form)?;
    let found = containers.iter().find(|container| container["id"] == name);
    let found = found.with_context(|| {
        let names = containers.iter().filter_map(|container| container["id"].as_str());
        let names: Vec<_> = names.collect();
        format!("{} has no container `{name}`: it has {}", path.display(), names.join(", "))
    })?;
    let paths: Vec<String> = serde_json::from_value(found["partitionKey"]["paths"].clone())
        .with_context(of_another_form)?;
    let key = paths.join(",").parse().with_context(|| path.display().to_string())?;
    let policy = found.get("indexingPolicy").cloned().map(serde_json::from_value).transpose();
    Ok((key, policy.with_context(of_another_form)?.unwrap_or_default()))
}
