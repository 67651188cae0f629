//! Copies of the items of `garden-tools`, in `shed-cards`. The change feed updates them.

use std::sync::Arc;

use tributary_functions::{prelude::*, projection::copies::AuditedCopies};

use super::garden_tools::GardenToolsItem;

/// The copies, each with the partition key, the id and the version of its source.
pub struct ShedCards;

impl Copies for ShedCards {
    const FUNCTION: &'static str = "ShedCards";
    type Change = GardenToolsItem;
    type Copy = GardenToolsItem;

    fn copies_of(change: &GardenToolsItem) -> Vec<VersionedCopy<GardenToolsItem>> {
        VersionedCopy::from_item(change.clone()).into_iter().collect()
    }
}

impl AuditedCopies for ShedCards {
    const PARTITION_KEY: &'static str = GardenToolsItem::PARTITION_KEY;

    fn source(copy: &GardenToolsItem) -> Option<(String, String)> {
        copy.origin().map(|Origin { partition, id, .. }| (partition, id))
    }
}

/// Returns the projection and its audit as a part of the domain.
pub(super) fn part(context: &Context<'_>) -> Domain {
    let [sources, copies] = ["garden-tools", "shed-cards"].map(|id| context.cosmos.container(id));
    let sundays = "0 0 3 * * 0";
    Domain {
        projections: vec![Arc::new(CopyProjection::<ShedCards>::new(&sources, &copies))],
        audit: Some(Audit::of_copies::<ShedCards>("AuditShedCards", sundays, &sources, &copies)),
        containers: vec![copies],
        ..Domain::new("shed-cards")
    }
}
