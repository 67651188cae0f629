//! The characteristics that would change the answer, found by asking again.

use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};
use serde::Serialize;

use super::{
    ContainerArchitecture, DataCharacteristics, decision,
    kinds::{LARGE_TENANT_GIGABYTES, MANY_ITEMS, SMALL_GIGABYTES},
};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AnswerChange {
    #[serde(rename = "if")]
    pub(crate) if_: String,
    pub(crate) not_said: bool,
    pub(crate) strategy: Option<KeyStrategy>,
    pub(crate) architecture: Option<ContainerArchitecture>,
}

pub(super) fn changes(c: &DataCharacteristics) -> Vec<AnswerChange> {
    let key = decision::key(c).strategy;
    let containers = decision::containers(c).architecture;
    let changes = CHARACTERISTICS.iter().filter_map(|(with, without, said, set)| {
        let said = said(c);
        let is_there = said == Some(true);
        let mut other = c.clone();
        set(&mut other, !is_there);
        let strategy = Some(decision::key(&other).strategy).filter(|other| *other != key);
        let architecture =
            Some(decision::containers(&other).architecture).filter(|other| *other != containers);
        (strategy.is_some() || architecture.is_some()).then(|| AnswerChange {
            if_: if is_there { without } else { with }.to_string(),
            not_said: said.is_none(),
            strategy,
            architecture,
        })
    });
    changes.collect()
}

/// A characteristic that can be reversed: the clauses with and without it, what the file says, and the change.
type Characteristic = (
    &'static str,
    &'static str,
    fn(&DataCharacteristics) -> Option<bool>,
    fn(&mut DataCharacteristics, bool),
);

const CHARACTERISTICS: [Characteristic; 10] = [
    (
        "each request knew the id of its item",
        "requests also searched",
        |c| c.access.by_id_only,
        |c, there| c.access.by_id_only = Some(there),
    ),
    (
        "requests asked for a time",
        "requests did not ask for a time",
        |c| c.access.temporal,
        |c, there| c.access.temporal = Some(there),
    ),
    (
        "there were more than 1,000,000 items",
        "there were at most 1,000,000 items",
        |c| c.volume.items.map(|items| items > MANY_ITEMS),
        |c, there| c.volume.items = Some(MANY_ITEMS + u64::from(there)),
    ),
    (
        "writes were heavy",
        "writes were not heavy",
        DataCharacteristics::writes_heavily,
        |c, there| c.load.high_write_volume = Some(there),
    ),
    (
        "each entity were asked for as often as any other",
        "some entities were asked for more often",
        |c| c.access.uniform,
        |c, there| c.access.uniform = Some(there),
    ),
    (
        "1,000 tenants shared the data",
        "tenants did not share the data",
        |c| c.tenants.count.map(|count| count > 0),
        |c, there| c.tenants.count = there.then_some(1_000),
    ),
    (
        "the largest tenant had more than 15 GB",
        "the largest tenant had less than 15 GB",
        |c| c.tenants.largest_gigabytes.map(|size| size > LARGE_TENANT_GIGABYTES),
        |c, there| c.tenants.largest_gigabytes = Some(if there { 16.0 } else { 1.0 }),
    ),
    (
        "most requests named an entity (paths.entity)",
        "no request named the entity",
        |c| c.paths.entity.as_ref().map(|_| true),
        |c, there| c.paths.entity = there.then(|| PropertyPath::from_name("entityId")),
    ),
    (
        "analytics over all times ran beside requests in real time",
        "there were no analytics beside requests in real time",
        |c| c.access.analytics_and_real_time,
        |c, there| c.access.analytics_and_real_time = Some(there),
    ),
    (
        "there were more than 500 GB under a high query load",
        "there were less than 100 GB",
        |c| c.volume.gigabytes.map(|size| size > SMALL_GIGABYTES),
        |c, there| {
            c.volume.gigabytes = Some(if there { 501.0 } else { SMALL_GIGABYTES / 2.0 });
            c.load.high_query_load = if there { Some(true) } else { c.load.high_query_load };
        },
    ),
];
