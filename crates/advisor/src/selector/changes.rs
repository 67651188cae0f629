//! The characteristics that would change the answer, found by asking again.

use cosmos_model::partitioning::{KeyStrategy, path::PropertyPath};
use serde::Serialize;

use super::{
    ContainerArchitecture, DataCharacteristics, architecture, decision,
    kinds::LARGE_TENANT_GIGABYTES,
    kinds::{MANY_ITEMS, SMALL_GIGABYTES},
};

/// A difference of one characteristic, and the answer to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AnswerChange {
    /// The difference, as a clause: "there were tenants".
    #[serde(rename = "if")]
    pub if_: String,
    /// True when the file says nothing about this characteristic.
    pub not_said: bool,
    /// The key then, where it is another.
    pub strategy: Option<KeyStrategy>,
    /// The containers then, where they are others.
    pub architecture: Option<ContainerArchitecture>,
}

pub(super) fn changes(c: &DataCharacteristics) -> Vec<AnswerChange> {
    let key = decision::decide(c).strategy;
    let containers = architecture::decide(c).architecture;
    let changes = CHARACTERISTICS.iter().filter_map(|characteristic| {
        let said = (characteristic.said)(c);
        let is_there = said == Some(true);
        let mut other = c.clone();
        (characteristic.set)(&mut other, !is_there);
        let strategy = Some(decision::decide(&other).strategy).filter(|other| *other != key);
        let architecture =
            Some(architecture::decide(&other).architecture).filter(|other| *other != containers);
        (strategy.is_some() || architecture.is_some()).then(|| AnswerChange {
            if_: if is_there { characteristic.without } else { characteristic.with }.to_owned(),
            not_said: said.is_none(),
            strategy,
            architecture,
        })
    });
    changes.collect()
}

/// A characteristic that can be reversed: the clauses with and without it, what the file says, and the change.
struct Characteristic {
    with: &'static str,
    without: &'static str,
    said: fn(&DataCharacteristics) -> Option<bool>,
    set: fn(&mut DataCharacteristics, bool),
}

const CHARACTERISTICS: [Characteristic; 10] = [
    Characteristic {
        with: "each request knew the id of its item",
        without: "requests also searched",
        said: |c| c.access.by_id_only,
        set: |c, there| c.access.by_id_only = Some(there),
    },
    Characteristic {
        with: "requests asked for a time",
        without: "requests did not ask for a time",
        said: |c| c.access.temporal,
        set: |c, there| c.access.temporal = Some(there),
    },
    Characteristic {
        with: "there were more than 1,000,000 items",
        without: "there were at most 1,000,000 items",
        said: |c| c.volume.items.map(|items| items > MANY_ITEMS),
        set: |c, there| c.volume.items = Some(MANY_ITEMS + u64::from(there)),
    },
    Characteristic {
        with: "writes were heavy",
        without: "writes were not heavy",
        said: DataCharacteristics::writes_heavily,
        set: |c, there| c.load.high_write_volume = Some(there),
    },
    Characteristic {
        with: "each entity were asked for as often as any other",
        without: "some entities were asked for more often",
        said: |c| c.access.uniform,
        set: |c, there| c.access.uniform = Some(there),
    },
    Characteristic {
        with: "1,000 tenants shared the data",
        without: "tenants did not share the data",
        said: |c| c.tenants.count.map(|count| count > 0),
        set: |c, there| c.tenants.count = there.then_some(1_000),
    },
    Characteristic {
        with: "the largest tenant had more than 15 GB",
        without: "the largest tenant had less than 15 GB",
        said: |c| c.tenants.largest_gigabytes.map(|size| size > LARGE_TENANT_GIGABYTES),
        set: |c, there| c.tenants.largest_gigabytes = Some(if there { 16.0 } else { 1.0 }),
    },
    Characteristic {
        with: "most requests named an entity (paths.entity)",
        without: "no request named the entity",
        said: |c| c.paths.entity.as_ref().map(|_| true),
        set: |c, there| c.paths.entity = there.then(|| PropertyPath::from_name("entityId")),
    },
    Characteristic {
        with: "analytics over all times ran beside requests in real time",
        without: "there were no analytics beside requests in real time",
        said: |c| c.access.analytics_and_real_time,
        set: |c, there| c.access.analytics_and_real_time = Some(there),
    },
    Characteristic {
        with: "there were more than 500 GB under a high query load",
        without: "there were less than 100 GB",
        said: |c| c.volume.gigabytes.map(|size| size > SMALL_GIGABYTES),
        set: |c, there| {
            c.volume.gigabytes = Some(if there { 501.0 } else { SMALL_GIGABYTES / 2.0 });
            c.load.high_query_load = if there { Some(true) } else { c.load.high_query_load };
        },
    },
];
