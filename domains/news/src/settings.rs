//! The settings of the news.

use std::{collections::HashSet, time::Duration};

use tributary_functions::{config::Settings, cosmos::Limits, prelude::*};

use super::model::{Ages, ProviderId, Strategy};

/// The most store requests of a page. A partition takes one request as a rule, a container one for
/// each of its physical partitions.
const MAX_PAGE_REQUESTS: u64 = 500;

#[derive(Debug, Clone)]
pub(super) struct NewsSettings {
    pub strategy: Strategy,
    /// The ages at which items go from container to container.
    pub ages: Ages,
    pub pages: PageBounds,
}

/// The limits of a page of a list: a page that reaches one ends early.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageBounds {
    pub partitions: usize,
    /// The store requests, the request units and the time of a page.
    pub limits: Limits,
}

impl NewsSettings {
    /// Reads the settings; `docs/news.md` has them in a table.
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
        let years = settings.number("News__ArchiveAfterYears", 1..=100)?.unwrap_or(2_u16);
        let migrate_after = Duration::from_secs(days * 24 * 60 * 60);
        let pages = PageBounds::read(settings)?;
        Ok(Self { strategy, ages: Ages { migrate_after, archive_after_years: years }, pages })
    }
}

impl PageBounds {
    fn read(settings: Settings<'_>) -> Result<Self, ConfigError> {
        let partitions = settings.number("News__PagePartitions", 1..=200)?.unwrap_or(50);
        let request_units = settings.number("News__PageRequestUnits", 1..=5_000)?.unwrap_or(500);
        let seconds = settings.number("News__PageSeconds", 1..=30)?.unwrap_or(5);
        let limits = Limits {
            store_requests: MAX_PAGE_REQUESTS,
            request_units,
            time: Duration::from_secs(seconds),
        };
        Ok(Self { partitions, limits })
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
