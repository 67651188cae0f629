//! The characteristics of data that does not exist yet: the guide's `DataCharacteristics`, as a TOML file.

use anyhow::{anyhow, ensure};
use cosmos_model::partitioning::path::PropertyPath;
use serde::Deserialize;

use crate::checks::PARTITION_REQUEST_UNITS;

/// The characteristics. All are optional; the file refuses names that it does not know.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DataCharacteristics {
    pub(super) volume: DataVolume,
    pub(super) load: DataLoad,
    pub(super) access: DataAccess,
    pub(super) tenants: DataTenants,
    pub(super) paths: KeyPaths,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DataVolume {
    pub(super) items: Option<u64>,
    pub(super) gigabytes: Option<f64>,
    pub(super) items_per_entity_per_day: Option<f64>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DataLoad {
    writes_per_second: Option<f64>,
    /// The guide's `HighWriteVolume`, where the number is not known.
    high_write_volume: Option<bool>,
    pub(super) high_query_load: Option<bool>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DataAccess {
    /// Most requests ask for recent items or for a time: the guide's `TemporalAccess`.
    pub(super) temporal: Option<bool>,
    /// Each entity is asked for as often as any other: the guide's `UniformAccess`.
    pub(super) uniform: Option<bool>,
    pub(super) by_id_only: Option<bool>,
    pub(super) analytics_and_real_time: Option<bool>,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DataTenants {
    /// The number of organizations. None, or 0, means that the data is not shared.
    pub(super) count: Option<u64>,
    pub(super) largest_gigabytes: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct KeyPaths {
    pub(super) id: PropertyPath,
    pub(super) entity: Option<PropertyPath>,
    pub(super) time: PropertyPath,
    pub(super) tenant: PropertyPath,
}

impl Default for KeyPaths {
    fn default() -> Self {
        let [id, time, tenant] = ["id", "createdAt", "tenantId"].map(PropertyPath::from_name);
        Self { id, entity: None, time, tenant }
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

    /// Half of the request units of one logical partition at the busiest time, or as the file says.
    pub(super) fn writes_heavily(&self) -> bool {
        let takes = |writes: f64| writes * WRITE_REQUEST_UNITS >= PARTITION_REQUEST_UNITS / 2.0;
        self.load.high_write_volume.or(self.load.writes_per_second.map(takes)) == Some(true)
    }
}
