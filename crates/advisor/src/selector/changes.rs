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

/// A reversed characteristic: the clause, true if the file does not have it, and the change.
type CharacteristicTurn = (&'static str, bool, fn(&mut DataCharacteristics));

pub(super) fn changes(c: &DataCharacteristics) -> Vec<AnswerChange> {
    let key = decision::decide(c).strategy;
    let containers = architecture::decide(c).architecture;
    let changes = turns(c).into_iter().filter_map(|(clause, not_said, turn)| {
        let mut other = c.clone();
        turn(&mut other);
        let strategy = Some(decision::decide(&other).strategy).filter(|other| *other != key);
        let architecture =
            Some(architecture::decide(&other).architecture).filter(|other| *other != containers);
        (strategy.is_some() || architecture.is_some()).then(|| AnswerChange {
            if_: clause.to_owned(),
            not_said,
            strategy,
            architecture,
        })
    });
    changes.collect()
}

fn turns(c: &DataCharacteristics) -> Vec<CharacteristicTurn> {
    let mut turns: Vec<CharacteristicTurn> = Vec::new();
    let mut flag = |said: Option<bool>,
                    yes: &'static str,
                    no: &'static str,
                    turn: [fn(&mut DataCharacteristics); 2]| {
        turns.push(match said {
            Some(true) => (no, false, turn[0]),
            _ => (yes, said.is_none(), turn[1]),
        });
    };
    flag(
        c.access.by_id_only,
        "each request knew the id of its item",
        "requests also searched",
        [|c| c.access.by_id_only = Some(false), |c| c.access.by_id_only = Some(true)],
    );
    flag(
        c.access.temporal,
        "requests asked for a time",
        "requests did not ask for a time",
        [|c| c.access.temporal = Some(false), |c| c.access.temporal = Some(true)],
    );
    flag(
        c.volume.items.map(|items| items > MANY_ITEMS),
        "there were more than 1,000,000 items",
        "there were at most 1,000,000 items",
        [|c| c.volume.items = Some(MANY_ITEMS), |c| c.volume.items = Some(MANY_ITEMS + 1)],
    );
    flag(
        c.writes_heavily(),
        "writes were heavy",
        "writes were not heavy",
        [|c| c.load.high_write_volume = Some(false), |c| c.load.high_write_volume = Some(true)],
    );
    flag(
        c.access.uniform,
        "each entity were asked for as often as any other",
        "some entities were asked for more often",
        [|c| c.access.uniform = Some(false), |c| c.access.uniform = Some(true)],
    );
    flag(
        c.tenants.count.map(|count| count > 0),
        "1,000 tenants shared the data",
        "tenants did not share the data",
        [|c| c.tenants.count = None, |c| c.tenants.count = Some(1_000)],
    );
    flag(
        c.tenants.largest_gigabytes.map(|size| size > LARGE_TENANT_GIGABYTES),
        "the largest tenant had more than 15 GB",
        "the largest tenant had less than 15 GB",
        [|c| c.tenants.largest_gigabytes = Some(1.0), |c| c.tenants.largest_gigabytes = Some(16.0)],
    );
    flag(
        c.paths.entity.as_ref().map(|_| true),
        "most requests named an entity (paths.entity)",
        "no request named the entity",
        [|c| c.paths.entity = None, |c| c.paths.entity = Some(PropertyPath::from_name("entityId"))],
    );
    flag(
        c.access.analytics_and_real_time,
        "analytics over all times ran beside requests in real time",
        "there were no analytics beside requests in real time",
        [
            |c| c.access.analytics_and_real_time = Some(false),
            |c| c.access.analytics_and_real_time = Some(true),
        ],
    );
    flag(
        c.volume.gigabytes.map(|size| size > SMALL_GIGABYTES),
        "there were more than 500 GB under a high query load",
        "there were less than 100 GB",
        [
            |c| c.volume.gigabytes = Some(SMALL_GIGABYTES / 2.0),
            |c| {
                c.volume.gigabytes = Some(501.0);
                c.load.high_query_load = Some(true);
            },
        ],
    );
    turns
}
