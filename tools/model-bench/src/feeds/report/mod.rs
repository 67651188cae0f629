//! The measurements of the feeds as tables, as JSON, and as one HTML file with charts.

mod tables;

mod html;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::{architecture::Architecture, router::Feeds, shape::RequestShape};
use crate::{
    measure::RequestMeans,
    report::{Forms, Machine},
};

/// The lowest bill of a container, in request units a second: the lowest manual throughput, and a tenth
/// of the guide's autoscale maximum of 4,000.
const LEAST_THROUGHPUT: f64 = 400.0;
/// Dollars of 100 request units a second for an hour, as in `docs/infrastructure.md`.
const DOLLARS_OF_100_RU_HOURS: f64 = 0.012;
const HOURS_OF_A_MONTH: f64 = 730.0;

/// All measurements.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FeedsReport {
    pub(super) command: String,
    pub(super) machine: Machine,
    pub(super) seed: u64,
    /// From the shortest time to the longest.
    pub(super) sizes: Vec<FeedsMeasurements>,
}

/// The measurements with one data set.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FeedsMeasurements {
    pub(super) months: u32,
    pub(super) items: usize,
    pub(super) providers: u32,
    pub(super) items_per_partition: u32,
    pub(super) capacities: Vec<Capacity>,
    pub(super) rows: Vec<ShapeRow>,
    /// Request units of an item in each step of a migration.
    pub(super) migrations: Vec<(Architecture, BTreeMap<&'static str, f64>)>,
}

/// The containers of an architecture.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Capacity {
    architecture: Architecture,
    containers: Vec<ContainerCapacity>,
    least_dollars_a_month: f64,
}

#[derive(Clone, Debug, Serialize)]
struct ContainerCapacity {
    id: String,
    items: usize,
    logical_partitions: usize,
    physical_partitions: u32,
}

/// The cost of a shape in an architecture.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ShapeRow {
    pub(super) shape: RequestShape,
    pub(super) architecture: Architecture,
    #[serde(flatten)]
    pub(super) measured: RequestMeans,
}

impl Capacity {
    pub(super) fn new(feeds: &Feeds) -> Self {
        let container = |place: &super::router::FeedContainer| ContainerCapacity {
            id: place.container.id().to_owned(),
            items: place.items,
            logical_partitions: feeds.logical_partitions(place.container.id()),
            physical_partitions: place.physical_partitions,
        };
        let containers: Vec<_> = feeds.places.iter().map(container).collect();
        let each = LEAST_THROUGHPUT / 100.0 * DOLLARS_OF_100_RU_HOURS * HOURS_OF_A_MONTH;
        let least_dollars_a_month = containers.iter().map(|_| each).sum();
        Self { architecture: feeds.architecture, containers, least_dollars_a_month }
    }
}

impl FeedsMeasurements {
    /// Returns the measurement of a shape in an architecture.
    pub(super) fn row(
        &self,
        shape: RequestShape,
        architecture: Architecture,
    ) -> Option<&RequestMeans> {
        let row = |row: &&ShapeRow| row.shape == shape && row.architecture == architecture;
        self.rows.iter().find(row).map(|row| &row.measured)
    }

    /// Returns the measured architectures.
    fn architectures(&self) -> impl Iterator<Item = Architecture> {
        self.capacities.iter().map(|capacity| capacity.architecture)
    }

    fn in_words(&self) -> String {
        let Self { months, items, providers, items_per_partition, .. } = self;
        format!(
            "{months} months: {items} items of {providers} providers, a physical partition for each \
             {items_per_partition} items of a container"
        )
    }
}

impl Forms for FeedsReport {
    fn text(&self) -> String {
        tables::text(self)
    }

    fn markdown(&self) -> String {
        tables::markdown(self)
    }

    fn json(&self) -> serde_json::Value {
        let published = RequestShape::ALL.into_iter().filter_map(|shape| {
            let published = shape.published()?;
            Some(json!({ "shape": shape, "guide": published }))
        });
        json!({ "measured": self, "published": published.collect::<Vec<_>>() })
    }

    fn html(&self) -> String {
        html::page(self)
    }
}
