//! The interface of a domain to the simulator.

use std::fmt::Debug;

use serde_json::Value;
use tributary_local::{chaos::Random, client::Call};

use crate::{
    api::{Comparison, Reply},
    copies::ManyCopies,
    versions::Versions,
};

/// The clients of a run, which are numbered.
pub(crate) const CLIENTS: usize = 8;

/// A reference model of a domain. An operation begins, is sent until its outcome is known, and ends. The model learns
/// of both moments, under one lock for all clients. So it knows which operations may have met.
pub(crate) trait Workload {
    /// Containers of copies, each with the query of partition key (`c.key`) and id of all copies in it.
    /// An operator may delete a copy: a duplicate delivery of its source writes it again.
    const COPIES: &'static [(&'static str, &'static str)] = &[];

    const PROJECTIONS: &'static [&'static str] = &[];

    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn many_copies(_count: usize) -> Option<ManyCopies> {
        None
    }

    fn next(&mut self, client: usize, random: &mut Random) -> Operation<Self>;

    async fn check(&self, it: &mut Comparison<'_>);

    /// Lets days pass on the clock of the app. Returns false if the domain has no such clock.
    fn days_pass(&mut self, _days: i32) -> bool {
        false
    }
}

pub(crate) struct Operation<M: ?Sized> {
    pub(crate) call: Call,
    /// Ends the operation with its answer. The error of a wrong answer is the known state.
    pub(crate) finish: Finish<M>,
}

type Finish<M> = Box<dyn FnOnce(&mut M, &Reply) -> Verdict>;

/// The judgement of an answer; its error is the state that the model knows.
pub(crate) type Verdict = Result<(), String>;

impl<M> Operation<M> {
    pub(crate) fn new(
        call: Call,
        finish: impl FnOnce(&mut M, &Reply) -> Verdict + 'static,
    ) -> Self {
        Self { call, finish: Box::new(finish) }
    }

    /// Returns the query for an item, which may show a version that a replica still has.
    pub(crate) fn read<T: Debug>(
        path: String,
        versions: impl Fn(&M) -> &Versions<T> + 'static,
        is_version: impl Fn(&T, &Value) -> bool + 'static,
    ) -> Self {
        Self::new(Call::get(path), move |model, reply| {
            let versions = versions(model);
            let is_right = versions.is_shown(reply, |version| is_version(version, &reply.body));
            verdict(is_right, versions)
        })
    }
}

pub(crate) fn verdict(is_right: bool, known: &impl Debug) -> Verdict {
    if is_right { Ok(()) } else { Err(format!("{known:?}")) }
}
