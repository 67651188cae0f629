//! Reading the items of a live container.

use std::num::NonZeroU32;

use azure_data_cosmos::{
    ContainerClient, CosmosClient, FeedScope, Query,
    options::{
        FeedOptions, MaxItemCountHint, OperationOptions, PriorityLevel, QueryOptions,
        ThroughputControlOptionsBuilder,
    },
};
use futures::TryStreamExt;
use serde::Serialize;
use serde_json::Value;
use tributary_partitioning::KeyStrategy;

use super::{Telemetry, connection::ConnectionError, names::Names};
use crate::{Analysis, Options, report::Report, sample::Item};

/// Items of a page. A page of items of 1 KB costs about 30 request units, so a bound of request units is
/// exceeded by little.
const PAGE: u32 = 100;

/// A live container.
pub struct Container {
    pub(super) database: String,
    pub(super) id: String,
    pub(super) paths: Vec<String>,
    strategy: KeyStrategy,
    client: ContainerClient,
}

/// How much a scan may read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Items, divided evenly among the physical partitions.
    pub items: Option<u64>,
    /// Request units. The scan ends with the page that reaches them.
    pub request_units: Option<f64>,
}

/// What a scan has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scan {
    /// Items.
    pub items: u64,
    /// Their bytes as JSON, the system's properties included.
    pub bytes: u64,
    /// Physical partitions of the container.
    pub physical_partitions: usize,
    /// Whether each item was read.
    pub is_complete: bool,
    /// Request units that the scan has cost.
    pub request_units: f64,
    /// Requests to the store, the SDK's own retries included.
    pub requests: u64,
}

impl Container {
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
        Ok(Self { database: database.to_owned(), id: id.to_owned(), paths, strategy, client })
    }

    /// Returns its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reads items, with low priority where the account has priorities, and reports on the container's
    /// own key. The names in `telemetry` see each key, and `progress` each page.
    pub async fn scan(
        &self,
        limits: Limits,
        telemetry: Option<&mut Telemetry>,
        mut progress: impl FnMut(&Scan),
    ) -> anyhow::Result<(Scan, Report)> {
        let mut unnamed = Names::default();
        let names = telemetry.map_or(&mut unnamed, |telemetry| &mut telemetry.names);
        let ranges = self.client.read_feed_ranges(None).await?;
        let mut scan =
            Scan { physical_partitions: ranges.len(), is_complete: true, ..Scan::default() };
        let options = Options {
            current: Some(self.strategy.clone()),
            physical_partitions: u32::try_from(ranges.len()).ok(),
            ..Options::default()
        };
        let mut analysis = Analysis::new(vec![self.strategy.clone()], Vec::new(), options);
        let mut left = ranges.len() as u64;
        'ranges: for range in ranges {
            // What one physical partition does not have, the others may give.
            let share = limits.items.map(|most| (most - scan.items).div_ceil(left));
            let until = share.map(|share| scan.items + share);
            left -= 1;
            if share == Some(0) {
                scan.is_complete = false;
                break;
            }
            let mut pages = self.pages(FeedScope::range(range), share).await?;
            while let Some(page) = pages.try_next().await? {
                let diagnostics = page.diagnostics();
                scan.request_units += diagnostics.total_request_charge().value();
                scan.requests += diagnostics.request_count() as u64;
                let mut page = page.into_items();
                let room = until.map_or(u64::MAX, |until| until - scan.items);
                page.truncate(usize::try_from(room).unwrap_or(usize::MAX));
                let items: Vec<Item> = page.into_iter().map(item).collect();
                for item in &items {
                    scan.bytes += item.bytes as u64;
                    if let Ok(key) = self.strategy.key(&item.value) {
                        names.see(&key);
                    }
                }
                scan.items += items.len() as u64;
                analysis.add(&items);
                progress(&scan);
                if limits.request_units.is_some_and(|most| scan.request_units >= most) {
                    scan.is_complete = false;
                    break 'ranges;
                }
                if until.is_some_and(|until| scan.items >= until) {
                    scan.is_complete = false;
                    break;
                }
            }
        }
        let report = analysis.finish().pop();
        Ok((scan, report.ok_or_else(|| anyhow::anyhow!("the analysis has no report"))?))
    }

    async fn pages(
        &self,
        scope: FeedScope,
        most: Option<u64>,
    ) -> azure_data_cosmos::Result<azure_data_cosmos::feed::QueryPageIterator<Value>> {
        let page = most.and_then(|most| u32::try_from(most).ok()).unwrap_or(PAGE).min(PAGE);
        let mut operation = OperationOptions::default();
        operation.throughput_control = Some(
            ThroughputControlOptionsBuilder::new().with_priority_level(PriorityLevel::Low).build(),
        );
        let page = NonZeroU32::new(page).unwrap_or(NonZeroU32::MIN);
        // By itself, the SDK refuses a query of more than 100 physical partitions.
        let feed = FeedOptions::default()
            .with_max_item_count(MaxItemCountHint::Limit(page))
            .with_max_fan_out(u32::MAX);
        let options =
            QueryOptions::default().with_operation_options(operation).with_feed_options(feed);
        let query = Query::from("SELECT * FROM c");
        Ok(self.client.query_items(query, scope, Some(options)).await?.into_pages())
    }
}

fn found(error: azure_data_cosmos::CosmosError, missing: impl Fn() -> String) -> anyhow::Error {
    if error.status().is_not_found() {
        anyhow::anyhow!(missing())
    } else {
        ConnectionError::Store(error).into()
    }
}

fn item(value: Value) -> Item {
    let bytes = serde_json::to_vec(&value).map_or(0, |text| text.len());
    Item { value, bytes }
}
