//! Reading the items of a live container.

use std::num::NonZeroU32;

use azure_data_cosmos::{
    ContainerClient, CosmosClient, FeedScope, Query,
    feed::{FeedRange, QueryFeedPage, QueryPageIterator},
    models::PartitionKeyDefinition,
    options::{
        FeedOptions, MaxItemCountHint, OperationOptions, PriorityLevel, QueryOptions,
        ThroughputControlOptionsBuilder,
    },
};
use cosmos_model::partitioning::KeyStrategy;
use futures::TryStreamExt;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    RequestTelemetry,
    connection::ConnectionError,
    endings::{EndingSearch, IdEndings, MIN_ENDING_ITEMS, SearchStep},
    names::PartitionNames,
};
use crate::{
    Estimates, SampleCounts, ValidationOptions, findings, report::CandidateReport,
    sample::SampleItem,
};

/// The most items of a page. A page of items of 1 KB costs about 30 request units, so a scan exceeds its bound
/// of request units by little.
pub(super) const MAX_PAGE_ITEMS: u32 = 100;

/// A live container.
pub struct LiveContainer {
    pub(super) database: String,
    pub(super) id: String,
    pub(super) paths: Vec<String>,
    pub(super) definition: PartitionKeyDefinition,
    pub(super) strategy: KeyStrategy,
    pub(super) client: ContainerClient,
}

/// The limits of a scan.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScanLimits {
    /// Items, from all over the container.
    pub items: Option<u64>,
    /// Request units. The scan ends with the page that reaches them.
    pub request_units: Option<f64>,
}

/// The result of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerScan {
    /// Items.
    pub items: u64,
    /// Their bytes as JSON, the system's properties included.
    pub bytes: u64,
    /// Physical partitions of the container.
    pub physical_partitions: usize,
    /// Items of the container, estimated from a sample across it.
    pub items_in_container: Option<u64>,
    /// True when each item was read.
    pub is_complete: bool,
    /// True when some physical partition has more items than its first page.
    #[serde(skip)]
    goes_on: bool,
    /// Request units that the scan has cost.
    pub request_units: f64,
    /// Requests to the store, the SDK's own retries included.
    pub requests: u64,
}

impl LiveContainer {
    /// Looks a container up and reads its definition.
    pub async fn open(cosmos: &CosmosClient, database: &str, id: &str) -> anyhow::Result<Self> {
        let missing = || format!("there is no container `{id}` in the database `{database}`");
        let client = cosmos.database_client(database).container_client(id, None).await;
        let client = client.map_err(|error| found(error, missing))?;
        let read = client.read(None).await.map_err(|error| found(error, missing))?;
        let definition = read.into_model()?.partition_key;
        let paths: Vec<String> = definition.paths().iter().map(ToString::to_string).collect();
        let strategy = paths.join(",").parse().map_err(|error| {
            anyhow::anyhow!("the partition key {} cannot be read: {error}", paths.join(", "))
        })?;
        let database = database.to_owned();
        let id = id.to_owned();
        Ok(Self { database, id, paths, definition, strategy, client })
    }

    /// Returns the paths of its partition key.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reads items, with low priority where the account has priorities, and reports on the container's
    /// own key. `telemetry` takes the keys behind its names, and `progress` is called after each page.
    pub async fn scan(
        &self,
        limits: ScanLimits,
        telemetry: Option<&mut RequestTelemetry>,
        mut progress: impl FnMut(&ContainerScan),
    ) -> anyhow::Result<(ContainerScan, CandidateReport)> {
        let mut unnamed = PartitionNames::default();
        let names = telemetry.map_or(&mut unnamed, |telemetry| &mut telemetry.names);
        let ranges = self.client.read_feed_ranges(None).await?;
        let mut scan =
            ContainerScan { physical_partitions: ranges.len(), ..ContainerScan::default() };
        let is_bounded = limits.items.is_some() || limits.request_units.is_some();
        let options = ValidationOptions {
            current: Some(self.strategy.clone()),
            physical_partitions: u32::try_from(ranges.len()).ok(),
            ..ValidationOptions::default()
        };
        let mut counts = SampleCounts::new(vec![self.strategy.clone()], Vec::new(), options);
        let mut add = |items: Vec<SampleItem>, scan: &mut ContainerScan| {
            for item in &items {
                scan.bytes += item.bytes as u64;
                if let Ok(key) = self.strategy.key(&item.value) {
                    names.see(&key);
                }
            }
            scan.items += items.len() as u64;
            counts.add(&items);
            progress(scan);
        };
        if is_bounded {
            let first = self.first(&ranges, limits, &mut scan, &mut add).await?;
            if scan.is_complete
                || !self.across(&ranges, &first, limits, &mut scan, &mut add).await?
            {
                add(first, &mut scan);
            }
        } else {
            for range in ranges {
                let mut pages = self.pages(everything(), range, MAX_PAGE_ITEMS).await?;
                while let Some(page) = pages.try_next().await? {
                    add(scan.items_of(page), &mut scan);
                }
            }
            scan.is_complete = true;
        }
        counts.set_items_in_container(scan.items_in_container);
        let report = findings::find(Estimates::new(&counts)).pop();
        Ok((scan, report.ok_or_else(|| anyhow::anyhow!("the scan has no report"))?))
    }

    /// Returns the first items of each physical partition, a page at most, and sets `is_complete` if these are
    /// all. `each` takes their costs.
    async fn first(
        &self,
        ranges: &[FeedRange],
        limits: ScanLimits,
        scan: &mut ContainerScan,
        each: &mut impl FnMut(Vec<SampleItem>, &mut ContainerScan),
    ) -> anyhow::Result<Vec<SampleItem>> {
        let mut items = Vec::new();
        for (range, left) in ranges.iter().zip((1..=ranges.len() as u64).rev()) {
            // The items that one physical partition lacks come from the others.
            let room = limits.items.map_or(u64::MAX, |most| most - items.len() as u64);
            let share =
                u32::try_from(room.div_ceil(left)).unwrap_or(MAX_PAGE_ITEMS).min(MAX_PAGE_ITEMS);
            if share == 0 || scan.is_spent(limits) {
                return Ok(items);
            }
            let mut pages = self.pages(everything(), range.clone(), share).await?;
            let mut read = Vec::new();
            while read.len() < share as usize
                && let Some(page) = pages.try_next().await?
            {
                read.extend(scan.items_of(page));
                each(Vec::new(), scan);
            }
            let is_whole = (read.len() as u64) < u64::from(share);
            read.truncate(share as usize);
            items.extend(read);
            scan.goes_on |= !is_whole;
        }
        scan.is_complete = !scan.goes_on;
        Ok(items)
    }

    /// Passes the items of a sample across the container to `each`. Returns false, without any item, where the
    /// ids give no sample.
    async fn across(
        &self,
        ranges: &[FeedRange],
        first: &[SampleItem],
        limits: ScanLimits,
        scan: &mut ContainerScan,
        each: &mut impl FnMut(Vec<SampleItem>, &mut ContainerScan),
    ) -> anyhow::Result<bool> {
        let mut endings = IdEndings::default();
        let ids = first.iter().filter_map(|item| item.value.get("id")?.as_str());
        ids.for_each(|id| endings.see(id));
        let wanted = limits.items.unwrap_or(u64::MAX).min(scan.affordable(limits, first.len()));
        if !endings.tell() || wanted < MIN_ENDING_ITEMS {
            return Ok(false);
        }
        let limits = ScanLimits { items: Some(wanted), ..limits };
        let mut search = EndingSearch::new();
        loop {
            let one = endings.some(search.length, 1, 0);
            let mut only_cost = |_, scan: &mut ContainerScan| each(Vec::new(), scan);
            let found = self.ending(ranges, &one, limits, scan, &mut only_cost).await?;
            if scan.is_spent(limits) {
                return Ok(false);
            }
            let SearchStep::Take { length, endings: n } = search.next(&endings, found, wanted)
            else {
                continue;
            };
            let some = endings.some(length, n, 0);
            let found = self.ending(ranges, &some, limits, scan, each).await?;
            scan.items_in_container = Some(found.saturating_mul(endings.count(length)) / n);
            return Ok(true);
        }
    }

    /// Passes the items whose ids have one of these endings to `each`, within the limits. Returns their number.
    async fn ending(
        &self,
        ranges: &[FeedRange],
        endings: &[String],
        limits: ScanLimits,
        scan: &mut ContainerScan,
        each: &mut impl FnMut(Vec<SampleItem>, &mut ContainerScan),
    ) -> anyhow::Result<u64> {
        let query = query_of(endings)?;
        let most = limits.items.unwrap_or(u64::MAX);
        let mut found = 0;
        for range in ranges {
            let mut pages = self.pages(query.clone(), range.clone(), MAX_PAGE_ITEMS).await?;
            while let Some(page) = pages.try_next().await? {
                let mut items = scan.items_of(page);
                items.truncate(usize::try_from(most - found).unwrap_or(usize::MAX));
                found += items.len() as u64;
                each(items, scan);
                if found >= most || scan.is_spent(limits) {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }

    pub(super) async fn pages<T: DeserializeOwned + Send + 'static>(
        &self,
        query: Query,
        range: FeedRange,
        page: u32,
    ) -> azure_data_cosmos::Result<QueryPageIterator<T>> {
        let mut operation = OperationOptions::default();
        operation.throughput_control = Some(
            ThroughputControlOptionsBuilder::new().with_priority_level(PriorityLevel::Low).build(),
        );
        let page = NonZeroU32::new(page).unwrap_or(NonZeroU32::MIN);
        // By default, the SDK refuses a query of more than 100 physical partitions.
        let feed = FeedOptions::default()
            .with_max_item_count(MaxItemCountHint::Limit(page))
            .with_max_fan_out(u32::MAX);
        let options =
            QueryOptions::default().with_operation_options(operation).with_feed_options(feed);
        Ok(self
            .client
            .query_items(query, FeedScope::range(range), Some(options))
            .await?
            .into_pages())
    }
}

impl ContainerScan {
    /// Returns the items of a page, and adds its costs.
    fn items_of(&mut self, page: QueryFeedPage<Value>) -> Vec<SampleItem> {
        self.request_units += charge(&page);
        self.requests += page.diagnostics().request_count() as u64;
        page.into_items().into_iter().map(item).collect()
    }

    fn is_spent(&self, limits: ScanLimits) -> bool {
        limits.request_units.is_some_and(|most| self.request_units >= most)
    }

    /// Returns the number of items that half of the remaining request units pay for, at the price of the first
    /// ones. The other half pays for the search.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate of a number of items"
    )]
    fn affordable(&self, limits: ScanLimits, read: usize) -> u64 {
        let Some(most) = limits.request_units else { return u64::MAX };
        let each = self.request_units / read.max(1) as f64;
        ((most - self.request_units).max(0.0) / 2.0 / each.max(f64::MIN_POSITIVE)) as u64
    }

    /// Returns the number of items in the container for each item that was read; 1 where it is unknown.
    #[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^53")]
    pub(super) fn scale(&self) -> f64 {
        let all = self.items_in_container.unwrap_or(self.items);
        (all as f64 / self.items.max(1) as f64).max(1.0)
    }
}

/// Returns the request units of a page.
pub(super) fn charge<T>(page: &QueryFeedPage<T>) -> f64 {
    page.diagnostics().total_request_charge().value()
}

pub(super) fn everything() -> Query {
    Query::from("SELECT * FROM c")
}

/// Returns the query of the items whose ids have one of these endings.
pub(super) fn query_of(endings: &[String]) -> azure_data_cosmos::Result<Query> {
    let names = (0..endings.len()).map(|n| format!("ENDSWITH(c.id, @e{n})"));
    let text = format!("SELECT * FROM c WHERE {}", names.collect::<Vec<_>>().join(" OR "));
    let mut query = Query::from(text);
    for (n, ending) in endings.iter().enumerate() {
        query = query.with_parameter(format!("@e{n}"), ending)?;
    }
    Ok(query)
}

fn found(error: azure_data_cosmos::CosmosError, missing: impl Fn() -> String) -> anyhow::Error {
    if error.status().is_not_found() {
        anyhow::anyhow!(missing())
    } else {
        ConnectionError::Store(error).into()
    }
}

fn item(value: Value) -> SampleItem {
    let bytes = serde_json::to_vec(&value).map_or(0, |text| text.len());
    SampleItem { value, bytes }
}
