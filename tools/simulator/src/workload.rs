//! What a domain gives the simulator.

use std::fmt::Debug;

use anyhow::Result;
use azure_data_cosmos::DatabaseClient;
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tributary_local::chaos::Random;
use tributary_tools::Call;

use crate::{Api, Reply};

/// Operations on a domain, a reference model of what they lead to, and the comparison after quiet.
///
/// An operation begins, is sent until its outcome is known, and ends. The model is told of both
/// moments, under one lock for all clients: so it knows which operations may have met.
pub trait Workload: Debug + Send + Sync + 'static {
    /// An operation of a client.
    type Operation: Debug + Send + Sync;
    /// What an operation found when it began.
    type Begun: Send + Sync;

    /// Returns how many clients work at the same time.
    fn clients(&self) -> usize;

    /// Returns settings that the app has in its runs, besides those of every app.
    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Chooses the next operation of a client.
    fn next(&mut self, client: usize, random: &mut Random) -> Self::Operation;

    /// Notes that an operation begins.
    fn begin(&mut self, operation: &Self::Operation) -> Self::Begun;

    /// Returns the request of an operation.
    fn call(&self, operation: &Self::Operation) -> Call;

    /// Notes how often a handler was killed with an operation under way.
    fn was_killed(&mut self, _operation: &Self::Operation, _times: usize) {}

    /// Notes the answer that an operation ended with; false when the answer is not right.
    /// `repeated` tells that the operation was sent before without a known outcome.
    fn finish(
        &mut self,
        client: usize,
        operation: &Self::Operation,
        begun: &Self::Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool;

    /// Returns what is known of the items of an operation, for a person to read.
    fn known(&self, operation: &Self::Operation) -> String;

    /// Returns containers of copies, each with the query of partition key (`c.key`) and id of all
    /// copies in it. An operator may delete a copy: it is written again when its source is delivered
    /// again.
    fn copies(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Asks every query about everything, after quiet. Returns what differs, a sentence each.
    fn check<'a>(&'a self, api: &'a dyn Api) -> BoxFuture<'a, Vec<String>>;

    /// Returns the findings of the audit that no chaos explains, a sentence each: what a killed
    /// handler may leave is explained.
    fn unexplained<'a>(
        &'a self,
        _database: &'a DatabaseClient,
        findings: &'a [Value],
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        let sentences = findings.iter().map(|finding| format!("audit: {finding}")).collect();
        async { Ok(sentences) }.boxed()
    }
}
