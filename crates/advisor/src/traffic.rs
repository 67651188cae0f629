//! Kinds of requests from measured traffic: `docs/partitioning.md` has the sources. A row may stand for several requests.
//! Lines of the handler do not have the filters of a request, so they give frequencies to the kinds of the function's name.

use std::{collections::BTreeSet, io::BufRead};

use anyhow::{Context, bail, ensure};
use clap::Args;
use cosmos_model::partitioning::KeyStrategy;
use serde::Serialize;
use time::{Date, OffsetDateTime, Time};

use crate::{
    checks::{GB, HOT_PARTITION, LARGE_PARTITION},
    distribution,
    output::{Block, Section},
    request::{RequestFrequency, RequestKind},
    words::{counted, float, percent},
};

mod kinds;
mod queries;
mod rows;
mod tables;

use rows::TrafficRow;
use tables::TrafficTables;

const MAX_HOT_PARTITIONS: usize = 10;

#[derive(Debug, Default)]
pub(crate) struct Traffic {
    rows: u64,
    container: Option<String>,
    days_of_rows: Option<f64>,
    notation: Notation,
    /// The number of rows with a time of another form, and the form of the last.
    unread_times: (u64, String),
    span: Option<(OffsetDateTime, OffsetDateTime)>,
    days: BTreeSet<Date>,
    has_hours: bool,
    tables: TrafficTables,
}

/// How the exports write what can be read in two ways.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Notation {
    /// How numbers of --traffic are written: `true` for 1.000 and 2,83, `false` for 1,000 and 2.83.
    #[arg(long, value_name = "BOOL", help_heading = "Your data")]
    pub(crate) decimal_comma: Option<bool>,

    /// Whether the day is first in dates of --traffic such as 03/04/2026.
    #[arg(long, value_name = "BOOL", help_heading = "Your data")]
    pub(crate) day_first: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TrafficSummary {
    pub(crate) rows: u64,
    pub(crate) days: f64,
    pub(crate) notes: Vec<String>,
}

/// Where both tell, the diagnostic tables count: they know all clients, the handler's lines only its own requests.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartitionUse {
    pub(crate) request_units: f64,
    /// Used logical partitions; by the handler's lines, the most of a minute.
    pub(crate) partitions: f64,
    pub(crate) gini: Option<f64>,
    pub(crate) queries: f64,
    pub(crate) cross_partition_queries: f64,
    pub(crate) throttled: f64,
    #[serde(skip)]
    pub(crate) hottest: Vec<(String, f64)>,
    #[serde(skip)]
    pub(crate) sizes: Vec<(String, f64)>,
    #[serde(skip)]
    pub(crate) unknown: Vec<String>,
}

impl TrafficSummary {
    pub(crate) fn section(&self) -> Section {
        let rows = format!("{} rows of {:.1} days", self.rows, self.days);
        let sentences = std::iter::once(rows).chain(self.notes.clone()).collect();
        Section::new("Measured traffic", vec![Block::Sentences(sentences)])
    }
}

impl Traffic {
    /// Of one container, or of the only one that the rows name. `days` is for rows without times.
    pub(crate) fn new(container: Option<&str>, days: Option<f64>, notation: Notation) -> Self {
        let container = container.map(str::to_owned);
        Self { container, days_of_rows: days, notation, ..Self::default() }
    }

    pub(crate) fn read(&mut self, from: impl BufRead) -> anyhow::Result<()> {
        let mut first: Option<String> = None;
        let before = self.rows;
        rows::read(from, self.notation.decimal_comma, |row| {
            first.get_or_insert_with(|| row.columns());
            self.add(&row)
        })?;
        if self.rows == before {
            bail!(
                "has no row of CDBDataPlaneRequests, CDBPartitionKeyRUConsumption, CDBPartitionKeyStatistics, \
                 CDBQueryRuntimeStatistics or of the handler's lines. The first row has the columns {}. Export \
                 them with their names, such as OperationName and RequestCharge",
                first.as_deref().unwrap_or("(none)")
            );
        }
        Ok(())
    }

    fn add(&mut self, row: &TrafficRow) -> anyhow::Result<()> {
        let Some(add) = tables::table(row) else { return Ok(()) };
        self.rows += 1;
        if let Some(found) = row.text("CollectionName").or_else(|| row.text("container")) {
            if self.container.as_ref().is_some_and(|wanted| wanted != found) {
                return Ok(());
            }
            self.tables.containers.insert(found.to_owned());
        }
        // Where the days are those of the rows, a row without its time would be requests of no day.
        if let Some(text) = row.time().filter(|_| self.days_of_rows.is_none()) {
            let Some(at) = rows::time(text, self.notation.day_first)? else {
                self.unread_times = (self.unread_times.0 + 1, rows::form(text));
                return Ok(());
            };
            let (first, last) = self.span.get_or_insert((at, at));
            (*first, *last) = (at.min(*first), at.max(*last));
            self.days.insert(at.date());
            self.has_hours |= at.time() != Time::MIDNIGHT;
        }
        add(&mut self.tables, row, row.number(&["Requests", "count_"]).unwrap_or(1.0));
        Ok(())
    }

    /// Requests that stay in one logical partition name the properties of `current`, the container's key.
    pub(crate) fn requests(
        &self,
        current: Option<&KeyStrategy>,
    ) -> anyhow::Result<Vec<RequestKind>> {
        let containers = &self.tables.containers;
        if self.container.is_none() && containers.len() > 1 {
            let names: Vec<_> = containers.iter().map(String::as_str).collect();
            bail!("is about the containers {}: choose one by --container", names.join(", "));
        }
        Ok(kinds::kinds(&self.tables, self.days()?, current))
    }

    /// Sets frequencies by the calls in the handler's lines. Returns the functions without a request of their name.
    pub(crate) fn frequencies(&self, requests: &mut [RequestKind]) -> anyhow::Result<Vec<String>> {
        let days = self.days()?;
        let mut others = Vec::new();
        for (function, calls) in &self.tables.functions {
            match requests.iter_mut().find(|request| request.kind == *function) {
                Some(request) => {
                    request.frequency = Some(RequestFrequency { per_day: calls / days });
                }
                None => others.push(function.clone()),
            }
        }
        Ok(others)
    }

    pub(crate) fn measured(&self) -> anyhow::Result<TrafficSummary> {
        let mut notes = Vec::new();
        let measured = self.partition_use().unwrap_or_default();
        if let Some((key, most)) = measured.hottest.first() {
            let share = most / measured.request_units;
            let hot = " That is a hot partition: the guide's alert is at 80 %.";
            notes.push(format!(
                "Of the key that the container has, {key} takes the most request units: {}.{}",
                percent(share),
                if share > HOT_PARTITION.threshold { hot } else { "" }
            ));
        }
        if let Some((key, size)) = measured.sizes.iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
            let alert = " The guide's alert is at 15 GB, and a logical partition ends at 20 GB.";
            notes.push(format!(
                "The largest logical partition is {key} with {:.1} GB.{} Below 1 GB the service reports none.",
                size / GB,
                if *size > LARGE_PARTITION.threshold { alert } else { "" }
            ));
        }
        if self.tables.throttled > 0.0 {
            notes
                .push(format!("{} got 429: throttled.", counted(self.tables.throttled, "request")));
        }
        if self.tables.texts.is_empty() && self.tables.operations.contains_key("Query") {
            notes.push(
                "What the queries filter by is not among the rows: export CDBQueryRuntimeStatistics too, \
                 with full query texts, or write the filters by hand (--write-requests)."
                    .to_owned(),
            );
        }
        let undecided =
            self.tables.texts.keys().filter_map(|text| queries::filters(text).undecided);
        notes.extend(undecided.collect::<BTreeSet<_>>().into_iter().map(|because| {
            format!("Queries whose text has {because} count without filters: write them by hand (--write-requests).")
        }));
        let (unread, form) = &self.unread_times;
        if *unread > 0 {
            notes.push(format!(
                "{} with times that are not read, such as `{form}`, count as neither requests nor days; with \
                 --days all rows count.",
                counted(float(*unread), "row")
            ));
        }
        Ok(TrafficSummary { rows: self.rows - unread, days: self.days()?, notes })
    }

    pub(crate) fn partition_use(&self) -> anyhow::Result<PartitionUse> {
        let TrafficTables { keys, sizes, handler, throttled, .. } = &self.tables;
        let (queries, cross_partition_queries) = self.tables.crossing_queries();
        ensure!(
            !keys.is_empty() || !sizes.is_empty() || handler.request_units > 0.0 || queries > 0.0,
            "no row tells of the container `{}`: neither a line of the handler nor a row of \
             CDBPartitionKeyRUConsumption, CDBPartitionKeyStatistics or CDBQueryRuntimeStatistics",
            self.container.as_deref().unwrap_or_default()
        );
        let by_tables = !keys.is_empty();
        let (loads, request_units, partitions, gini) = if by_tables {
            let gini = distribution::gini(keys.values().map(|units| (*units, 1.0)));
            (keys, self.tables.request_units_of_keys, float(keys.len() as u64), Some(gini))
        } else {
            // The mean of the minutes, weighted by their request units.
            let gini = (handler.with_gini > 0.0).then(|| handler.gini / handler.with_gini);
            (&handler.by_partition, handler.request_units, handler.partitions, gini)
        };
        let hottest = loads.iter().map(|(name, units)| (name.clone(), *units));
        let mut hottest: Vec<_> = hottest.collect();
        hottest.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        hottest.truncate(MAX_HOT_PARTITIONS);
        let unknown = [
            (
                self.tables.is_bounded,
                "There are more logical partitions or queries than are counted one by one.",
            ),
            (
                !by_tables && handler.request_units > 0.0,
                "The handler tells the ten hottest partitions of each minute and only of its own requests: shares \
                 are lower bounds.",
            ),
            (loads.is_empty(), "Nothing tells the request units of partitions."),
            (queries == 0.0, "Nothing tells of queries."),
        ];
        let unknown = unknown.into_iter().filter(|(holds, _)| *holds);
        Ok(PartitionUse {
            request_units,
            partitions,
            gini,
            queries,
            cross_partition_queries,
            throttled: *throttled,
            hottest,
            sizes: sizes.iter().map(|(key, kb)| (key.clone(), kb * 1_024.0)).collect(),
            unknown: unknown.map(|(_, sentence)| sentence.to_owned()).collect(),
        })
    }

    /// Different days where rows stand for days or for more than two; otherwise the time between, at least a minute.
    fn days(&self) -> anyhow::Result<f64> {
        if let Some(days) = self.days_of_rows {
            return Ok(days);
        }
        let no_times =
            "has no times that are read, so the number of its days is unknown: give it by --days";
        let (first, last) = self.span.context(no_times)?;
        let n_days = float(self.days.len() as u64);
        let span = (last - first).as_seconds_f64() / 86_400.0;
        Ok(if n_days > 2.0 || !self.has_hours { n_days } else { span.max(1.0 / 1_440.0) })
    }
}

#[cfg(test)]
mod tests;
