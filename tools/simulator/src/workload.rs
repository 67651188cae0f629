//! The interface of a domain to the simulator.

use std::fmt::Debug;

use anyhow::Result;
use azure_data_cosmos::DatabaseClient;
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use crate::{Api, Reply};

/// The beginning of the ids of bystanders.
pub(crate) const BYSTANDER: &str = "bystander-";

/// Items that no client changes, so every list must always show all of them.
#[derive(Debug, Default)]
pub struct Bystanders {
    /// The requests that create them. Those of a step need the items of the steps before.
    pub steps: Vec<Vec<Call>>,
    /// The paths of the lists that show them, each with the number of its items.
    pub lists: Vec<(String, usize)>,
}

impl Bystanders {
    /// The children of each parent.
    const CHILDREN: usize = 50;

    /// Returns at least so many children, each of a parent. A parent has its id, which begins the ids of its
    /// children, its request and the path of the list of its children; a child has its request, by the id of the
    /// parent and its own.
    pub(crate) fn new(
        count: usize,
        parent: impl Fn(usize, &str) -> (Call, String),
        child: impl Fn(&str, &str) -> Call,
    ) -> Self {
        let mut steps = vec![Vec::new(), Vec::new()];
        let mut lists = Vec::new();
        for number in 0..count.div_ceil(Self::CHILDREN) {
            let id = format!("{BYSTANDER}{number}");
            let (created, list) = parent(number, &id);
            steps[0].push(created);
            steps[1].extend((0..Self::CHILDREN).map(|n| child(&id, &format!("{id}-{n}"))));
            lists.push((list, Self::CHILDREN));
        }
        Self { steps, lists }
    }
}

/// Operations on a domain, a reference model of their effects, and the comparison after quiet.
///
/// An operation begins, is sent until its outcome is known, and ends. The model learns of both moments,
/// under one lock for all clients: so it knows which operations may have met.
pub trait Workload: Debug + Send + Sync + 'static {
    /// An operation of a client.
    type Operation: Debug + Send + Sync;
    /// The state at the beginning of an operation.
    type Start: Send + Sync;

    /// Returns the number of clients that work at the same time.
    fn clients(&self) -> usize;

    /// Returns settings of the app in its runs, besides those of every app.
    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Returns at least so many bystanders that are sources of copies, or none if the domain has no such items.
    fn bystanders(&self, _count: usize) -> Bystanders {
        Bystanders::default()
    }

    /// Chooses the next operation of a client.
    fn next(&mut self, client: usize, random: &mut Random) -> Self::Operation;

    /// Begins an operation.
    fn begin(&mut self, operation: &Self::Operation) -> Self::Start;

    /// Returns the request of an operation.
    fn call(&self, operation: &Self::Operation) -> Call;

    /// Counts the kills of handlers with an operation under way.
    fn was_killed(&mut self, _operation: &Self::Operation, _times: usize) {}

    /// Ends an operation with its answer; returns false for a wrong answer. `repeated` is true if
    /// earlier attempts had no known outcome.
    fn finish(
        &mut self,
        client: usize,
        operation: &Self::Operation,
        start: &Self::Start,
        reply: &Reply,
        repeated: bool,
    ) -> bool;

    /// Returns the known state of the items of an operation, as text.
    fn known(&self, operation: &Self::Operation) -> String;

    /// Returns containers of copies, each with the query of partition key (`c.key`) and id of all
    /// copies in it. An operator may delete a copy: a duplicate delivery of its source writes it again.
    fn copies(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Sends every query for all items, after quiet. Returns the differences, a sentence each.
    fn check<'a>(&'a self, api: &'a dyn Api) -> BoxFuture<'a, Vec<String>>;

    /// Returns the findings of the audit that no chaos explains, a sentence each. The remains of a
    /// killed handler are explained.
    fn unexplained<'a>(
        &'a self,
        _database: &'a DatabaseClient,
        findings: &'a [Value],
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        let sentences = findings.iter().map(|finding| format!("audit: {finding}")).collect();
        async { Ok(sentences) }.boxed()
    }
}
