//! The characteristics of data that does not exist yet: the guide's `DataCharacteristics`, as a TOML file.

use anyhow::{anyhow, ensure};
use cosmos_model::partitioning::path::PropertyPath;
use serde::{Deserialize, Serialize};

use crate::limits::PARTITION_REQUEST_UNITS;

/// The characteristics. All are optional; the file refuses names that it does not know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataCharacteristics {
    /// The volume.
    pub volume: DataVolume,
    /// The load.
    pub load: DataLoad,
    /// The access.
    pub access: DataAccess,
    /// The tenants.
    pub tenants: DataTenants,
    /// The properties that a key can be made of.
    pub paths: KeyPaths,
}

/// The volume of the data, at the end of the time for which the key is to last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataVolume {
    /// Items in the container.
    pub items: Option<u64>,
    /// Bytes of all items, in GB.
    pub gigabytes: Option<f64>,
    /// Items of the busiest entity a day, such as readings of a device.
    pub items_per_entity_per_day: Option<f64>,
}

/// The load of the data: reads and writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataLoad {
    /// Writes at the busiest time.
    pub writes_per_second: Option<f64>,
    /// The guide's `HighWriteVolume`, where the number is not known.
    pub high_write_volume: Option<bool>,
    /// Many queries: the guide's "High Query Load".
    pub high_query_load: Option<bool>,
}

/// The access to the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataAccess {
    /// Most requests ask for recent items or for a time: the guide's `TemporalAccess`.
    pub temporal: Option<bool>,
    /// Each entity is asked for as often as any other: the guide's `UniformAccess`.
    pub uniform: Option<bool>,
    /// Each request knows the id of its one item.
    pub by_id_only: Option<bool>,
    /// Analytics over all times beside requests in real time.
    pub analytics_and_real_time: Option<bool>,
    /// Each period of time is kept, moved or paid for by itself.
    pub independent_periods: Option<bool>,
}

/// The tenants that share the data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DataTenants {
    /// The number of organizations. None, or 0, means that the data is not shared.
    pub count: Option<u64>,
    /// Bytes of the largest, in GB.
    pub largest_gigabytes: Option<f64>,
}

/// The properties that a key can be made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct KeyPaths {
    /// The item itself.
    pub id: PropertyPath,
    /// The entity that most requests name: a user, a device, a customer.
    pub entity: Option<PropertyPath>,
    /// The time of creation.
    pub time: PropertyPath,
    /// The tenant.
    pub tenant: PropertyPath,
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
    /// Reads a file.
    pub fn read(text: &str) -> anyhow::Result<Self> {
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

    /// Returns true where several organizations share the data.
    pub(super) fn is_shared(&self) -> bool {
        self.tenants.count.is_some_and(|count| count > 0)
    }
}
