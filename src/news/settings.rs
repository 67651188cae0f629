//! The settings of the news.

use std::{collections::HashSet, time::Duration};

use super::model::{Ages, ProviderId, Strategy};
use crate::config::{ConfigError, Settings};

/// What an operator chooses.
#[derive(Debug, Clone)]
pub(super) struct NewsSettings {
    /// How items are spread over logical partitions.
    pub strategy: Strategy,
    /// The ages at which items go from container to container.
    pub ages: Ages,
}

impl NewsSettings {
    /// Reads the settings; `docs/configuration.md` has them in a table.
    pub(super) fn read(settings: Settings<'_>) -> Result<Self, ConfigError> {
        let high_volume = providers(settings)?;
        let strategy = match settings.text("News__PartitionStrategy").as_deref().map(str::trim) {
            None | Some("hybrid") => Strategy::Hybrid { high_volume },
            Some("monthly") => Strategy::Monthly,
            Some(_) => {
                return Err(ConfigError::new("News__PartitionStrategy must be hybrid or monthly."));
            }
        };
        let days = settings.number("News__MigrateAfterDays", 1..=3_650)?.unwrap_or(30_u64);
        let archive_after_years =
            settings.number("News__ArchiveAfterYears", 1..=100)?.unwrap_or(2_u16);
        let migrate_after = Duration::from_secs(days * 24 * 60 * 60);
        Ok(Self { strategy, ages: Ages { migrate_after, archive_after_years } })
    }
}

fn providers(settings: Settings<'_>) -> Result<HashSet<ProviderId>, ConfigError> {
    let list = settings.text("News__HighVolumeProviders").unwrap_or_default();
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| ProviderId::parse(name.to_owned())).collect::<Result<_, _>>().map_err(|_| {
        ConfigError::new(
            "News__HighVolumeProviders must be ids of feed providers, separated by commas.",
        )
    })
}
