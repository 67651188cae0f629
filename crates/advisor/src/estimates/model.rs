//! The model of the container, which is the same for all candidates: its requests, its size, and the draw of the
//! sample.

use cosmos_model::partitioning::path::PropertyPath;
use rayon::prelude::*;

use crate::{
    counts::{
        SampleCounts,
        request::{MatchedItems, RequestCounts},
    },
    options::ValidationOptions,
    population::SampleDraw,
    request::{RequestOperation, TransactionStep},
    words::float,
};

/// The container behind a sample.
#[derive(Debug)]
pub(crate) struct ContainerModel<'a> {
    pub(crate) kinds: Vec<(&'a RequestCounts, MatchedItems)>,
    pub(crate) options: &'a ValidationOptions,
    /// The property with the time of creation.
    pub(crate) time: &'a PropertyPath,
    /// Items in the container.
    pub(crate) n_items: f64,
    /// The draw of the sample from it.
    pub(crate) draw: SampleDraw,
}

impl<'a> ContainerModel<'a> {
    /// Returns the model of the container behind the counts of a sample.
    pub(crate) fn new(counts: &'a SampleCounts) -> Self {
        let SampleCounts { kinds, options, time, .. } = counts;
        let in_sample = float(counts.n_items);
        let n_items = options.items_in_container.map_or(in_sample, float).max(in_sample);
        let scale = if in_sample > 0.0 { n_items / in_sample } else { 1.0 };
        let draw = SampleDraw { scale, whole_keys: options.whole_keys.is_some() };
        let matches: Vec<_> = kinds.par_iter().map(|kind| kind.matches(draw)).collect();
        let kinds = kinds.iter().zip(matches).collect();
        Self { kinds, options, time, n_items, draw }
    }

    /// Returns the requests of a kind a day; 1 where no frequency is known.
    pub(crate) fn weight(&self, kind: &RequestCounts) -> f64 {
        let any = self.kinds.iter().any(|(kind, _)| kind.request.frequency.is_some());
        if any { kind.request.per_day().unwrap_or(0.0) } else { 1.0 }
    }

    /// Returns the growth of the container in items a day, where it is known: creates less deletes.
    pub(crate) fn items_per_day(&self) -> Option<f64> {
        let created = self.kinds.iter().filter_map(|(kind, _)| {
            let steps = match kind.request.operation {
                RequestOperation::Transaction => steps(kind),
                operation => vec![TransactionStep::new(operation)],
            };
            let grows = steps.iter().any(|step| step.operation == RequestOperation::Create);
            let change: f64 = steps.iter().map(change).sum();
            Some((grows, change * kind.request.per_day()?))
        });
        // Deletes alone do not tell the growth.
        let sum = created.reduce(|(a, sum), (b, change)| (a || b, sum + change));
        let stated = sum.filter(|(grows, _)| *grows).map(|(_, sum)| sum.max(0.0));
        self.options.items_per_day.or(stated)
    }
}

/// Returns the change of the number of items by a step.
fn change(step: &TransactionStep) -> f64 {
    match step.operation {
        RequestOperation::Create => f64::from(step.items),
        RequestOperation::Delete => -f64::from(step.items),
        _ => 0.0,
    }
}

/// Returns the writes of a transaction: one create when none is given.
pub(crate) fn steps(kind: &RequestCounts) -> Vec<TransactionStep> {
    if kind.request.writes.is_empty() {
        return vec![TransactionStep::new(RequestOperation::Create)];
    }
    kind.request.writes.clone()
}
