//! The characteristics of data that does not exist yet: the guide's `DataCharacteristics`, as a TOML file.

use anyhow::{anyhow, ensure};
use cosmos_model::partitioning::path::PropertyPath;
use serde::{Deserialize, Serialize};

use crate::checks::PARTITION_REQUEST_UNITS;

/// The characteristics. All are optional; the file refuses names that it does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DataCharacteristics {
    pub(crate) volume: DataVolume,
    pub(crate) load: DataLoad,
    pub(crate) access: DataAccess,
    pub(crate) tenants: DataTenants,
    pub(crate) paths: KeyPaths,
}

/// The volume of the data, at the end of the time for which the key is to last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DataVolume {
    pub(crate) items: Option<u64>,
    pub(crate) gigabytes: Option<f64>,
    pub(crate) items_per_entity_per_day: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DataLoad {
    pub(crate) writes_per_second: Option<f64>,
    /// The guide's `HighWriteVolume`, where the number is not known.
    pub(crate) high_write_volume: Option<bool>,
    /// Many queries: the guide's "High Query Load".
    pub(crate) high_query_load: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DataAccess {
    /// Most requests ask for recent items or for a time: the guide's `TemporalAccess`.
    pub(crate) temporal: Option<bool>,
    /// Each entity is asked for as often as any other: the guide's `UniformAccess`.
    pub(crate) uniform: Option<bool>,
    pub(crate) by_id_only: Option<bool>,
    pub(crate) analytics_and_real_time: Option<bool>,
    pub(crate) independent_periods: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DataTenants {
    /// The number of organizations. None, or 0, means that the data is not shared.
    pub(crate) count: Option<u64>,
    pub(crate) largest_gigabytes: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct KeyPaths {
    pub(crate) id: PropertyPath,
    pub(crate) entity: Option<PropertyPath>,
    pub(crate) time: PropertyPath,
    pub(crate) tenant: PropertyPath,
}

impl Default for KeyPaths {
    fn default() -> Self {
        Self {
            id: PropertyPath::from_name("id"),
            entity: None,
            time: PropertyPath::from_name("createdAt"),
            tenant: PropertyPath::from_name("tenantId"),
        }
    }
}

/// The request units of a write of 1 to 2 KB with all properties indexed: a round number for this decision alone.
const WRITE_REQUEST_UNITS: f64 = 10.0;

impl DataCharacteristics {
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let read: Self = toml::from_str(text).map_err(|error| {
            anyhow!(
                "{error}The sections are [volume], [load], [access], [tenants] and [paths]; `tributary-partition \
                 advise --help` shows a whole file"
            )
        })?;
        let blank = Self { paths: read.paths.clone(), ..Self::default() };
        ensure!(
            read != blank,
            "the file says nothing about the data: write at least one line, such as `items = 5_000_000` under \
             [volume] or `temporal = true` under [access]"
        );
        for (name, value) in [
            ("volume.gigabytes", read.volume.gigabytes),
            ("volume.items-per-entity-per-day", read.volume.items_per_entity_per_day),
            ("load.writes-per-second", read.load.writes_per_second),
            ("tenants.largest-gigabytes", read.tenants.largest_gigabytes),
        ] {
            let value = value.unwrap_or_default();
            let is_number = value.is_finite() && value >= 0.0;
            ensure!(is_number, "{name} is {value}: it must be a number from 0 on");
        }
        Ok(read)
    }

    /// Returns true where the writes of the busiest time would take half of the request units of one logical
    /// partition, or where the file says so.
    pub(super) fn writes_heavily(&self) -> Option<bool> {
        let takes = |writes: f64| writes * WRITE_REQUEST_UNITS >= PARTITION_REQUEST_UNITS / 2.0;
        self.load.high_write_volume.or(self.load.writes_per_second.map(takes))
    }

    pub(super) fn is_shared(&self) -> bool {
        self.tenants.count.is_some_and(|count| count > 0)
    }
}
