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
    report::RequestEstimates,
    request::{RequestOperation, TransactionStep},
    words::float,
};

#[derive(Debug)]
pub(crate) struct ContainerModel<'a> {
    pub(crate) kinds: Vec<(&'a RequestCounts, MatchedItems)>,
    pub(crate) options: &'a ValidationOptions,
    pub(crate) time: &'a PropertyPath,
    pub(crate) n_items: f64,
    pub(crate) draw: SampleDraw,
}

impl<'a> ContainerModel<'a> {
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

    /// Returns the sum of `of` over the requests a day; over one of each kind where no frequency is known.
    pub(crate) fn sum(
        &self,
        costs: &[RequestEstimates],
        of: impl Fn(&RequestCounts, &RequestEstimates) -> f64,
    ) -> f64 {
        let any = costs.iter().any(|cost| cost.per_day.is_some());
        let of_kind = |((kind, _), cost): (&(&RequestCounts, _), &RequestEstimates)| {
            of(kind, cost) * if any { cost.per_day.unwrap_or(0.0) } else { 1.0 }
        };
        self.kinds.iter().zip(costs).map(of_kind).sum()
    }

    /// Returns the growth of the container in items a day, where it is known: creates less deletes.
    pub(crate) fn items_per_day(&self) -> Option<f64> {
        let change = |step: &TransactionStep| match step.operation {
            RequestOperation::Create => f64::from(step.items),
            RequestOperation::Delete => -f64::from(step.items),
            _ => 0.0,
        };
        let kinds = self.kinds.iter().filter_map(|(kind, _)| {
            let changes = kind.steps.iter().map(change);
            let creates = changes.clone().any(|change| change > 0.0);
            Some((creates, changes.sum::<f64>() * kind.request.per_day()?))
        });
        // Deletes alone do not tell the growth.
        let sum = kinds.reduce(|(a, sum), (b, change)| (a || b, sum + change));
        let stated = sum.filter(|(grows, _)| *grows).map(|(_, sum)| sum.max(0.0));
        self.options.items_per_day.or(stated)
    }
}
