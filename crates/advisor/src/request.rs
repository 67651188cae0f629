//! Kinds of requests, as a line each of `requests.jsonl`.

use std::{cmp::Ordering, collections::BTreeMap, fmt, marker::PhantomData};

use anyhow::{Context, anyhow, bail, ensure};
use cosmos_model::partitioning::{
    Filter, FilterCondition, KeyValue, filter::ValueRange, path::PropertyPath,
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::Value;

/// Operations of one transaction: a limit of the service.
const MAX_TRANSACTION_OPERATIONS: u64 = 100;

/// A kind of request of the application, and its frequency. The [crate] has its notation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestKind {
    pub(crate) kind: String,
    pub(crate) operation: RequestOperation,
    /// The properties by which the request names its items; a write names them without a read.
    #[serde(
        default,
        deserialize_with = "unique_filters",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub(crate) filters: BTreeMap<PropertyPath, RequestFilter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) order_by: Option<OrderBy>,
    #[serde(default, skip_serializing_if = "QuerySelection::is_items")]
    pub(crate) select: QuerySelection,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) set: Vec<PropertyPath>,
    /// The writes of a transaction; one create when none is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) writes: Vec<TransactionStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) frequency: Option<RequestFrequency>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum RequestOperation {
    Read,
    #[default]
    Query,
    Create,
    Replace,
    /// Creates or replaces an item; charged as a replace.
    Upsert,
    Patch,
    Delete,
    /// Writes several items in one transaction, which one logical partition must hold.
    Transaction,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransactionStep {
    /// The operation: create, replace, upsert, patch or delete; a read of an item is allowed, too.
    pub(crate) operation: RequestOperation,
    /// The items that it writes; those of the transaction when none is given.
    #[serde(
        default,
        deserialize_with = "unique_filters",
        skip_serializing_if = "Filter::is_empty"
    )]
    pub(crate) filters: Filter,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) set: Vec<PropertyPath>,
    #[serde(default = "one_item")]
    pub(crate) items: u32,
}

/// Reads filters. Of two filters on one property, serde would drop the first.
fn unique_filters<'de, D: Deserializer<'de>, F: Deserialize<'de>>(
    from: D,
) -> Result<BTreeMap<PropertyPath, F>, D::Error> {
    struct Filters<F>(PhantomData<F>);

    impl<'de, F: Deserialize<'de>> Visitor<'de> for Filters<F> {
        type Value = BTreeMap<PropertyPath, F>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of filters")
        }

        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut filters = BTreeMap::new();
            while let Some((path, filter)) = map.next_entry::<PropertyPath, _>()? {
                if filters.insert(path.clone(), filter).is_some() {
                    return Err(M::Error::custom(format!(
                        "{path} has two filters, of which one would be ignored; join them to one, such as \
                         {{\"from\": …, \"to\": …}}"
                    )));
                }
            }
            Ok(filters)
        }
    }

    from.deserialize_map(Filters(PhantomData))
}

fn one_item() -> u32 {
    1
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub(crate) enum RequestFilter {
    /// `"?"`: the value of an item that is drawn from the sample.
    Drawn,
    /// `{"last": "30 days"}`: a time of this many seconds that ends at the newest item.
    Last(i64),
    /// A fixed condition: a value, a list of values, or a range.
    Fixed(FilterCondition),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", untagged)]
pub(crate) enum QuerySelection {
    #[default]
    #[serde(skip)]
    Items,
    Properties(Vec<PropertyPath>),
    /// `"count"`: one aggregated value, for which it loads all matching items.
    Aggregate(QueryAggregate),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum QueryAggregate {
    Count,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RequestFrequency {
    pub(crate) per_day: f64,
}

/// The order of an answer: `/createdAt desc`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct OrderBy {
    pub(crate) path: PropertyPath,
    pub(crate) descending: bool,
}

impl RequestOperation {
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Read | Self::Query)
    }
}

impl RequestFilter {
    pub(crate) fn is_range(&self) -> bool {
        matches!(self, Self::Last(_) | Self::Fixed(FilterCondition::Range(_)))
    }
}

impl TransactionStep {
    pub(crate) fn new(operation: RequestOperation) -> Self {
        Self { operation, filters: Filter::default(), set: Vec::new(), items: 1 }
    }
}

impl QuerySelection {
    fn is_items(&self) -> bool {
        *self == Self::Items
    }
}

impl RequestKind {
    /// Reads a line of `requests.jsonl`. A request without a meaning is refused.
    pub fn read(line: &str) -> anyhow::Result<Self> {
        let request: Self = serde_json::from_str(line)?;
        request.check()?;
        Ok(request)
    }

    fn check(&self) -> anyhow::Result<()> {
        use RequestOperation::{Patch, Query, Replace, Transaction, Upsert};
        let Self { operation, filters, set, writes, .. } = self;
        let per_day = self.per_day().unwrap_or_default();
        let of_a_query = self.limit.is_some() || self.order_by.is_some() || !self.select.is_items();
        let is_window = |wanted: &&RequestFilter| matches!(wanted, RequestFilter::Last(_));
        let is_write = |step: &TransactionStep| ![Query, Transaction].contains(&step.operation);
        for (is_right, rule) in [
            (per_day.is_finite() && per_day >= 0.0, "`perDay` is a number from 0 on"),
            (self.limit != Some(0), "`limit` is 1 or more: a request for no items costs nothing"),
            (
                !of_a_query || *operation == Query,
                "only a query has `limit`, `orderBy` and `select`",
            ),
            (
                set.is_empty() || [Replace, Upsert, Patch].contains(operation),
                "only a replace, upsert or patch has `set`; in a transaction each of `writes` has it",
            ),
            (writes.is_empty() || *operation == Transaction, "only a transaction has `writes`"),
            (
                filters.values().filter(is_window).count() <= 1,
                "one property may have a `last`; give the others `from` and `to`",
            ),
            (
                writes.iter().all(is_write),
                "a transaction writes items by their ids: create, replace, upsert, patch or delete. Write a query as \
                 a request of its own",
            ),
            (writes.iter().all(|step| step.items > 0), "`items` of a write is 1 or more"),
        ] {
            ensure!(is_right, rule);
        }
        let operations: u64 = writes.iter().map(|step| u64::from(step.items)).sum();
        ensure!(
            operations <= MAX_TRANSACTION_OPERATIONS,
            "a transaction has at most {MAX_TRANSACTION_OPERATIONS} operations, and this one has {operations}: split it"
        );
        let fixed = filters.iter().filter_map(|(path, wanted)| match wanted {
            RequestFilter::Fixed(condition) => Some((path, condition)),
            RequestFilter::Drawn | RequestFilter::Last(_) => None,
        });
        let mut conditions = fixed.chain(writes.iter().flat_map(|step| &step.filters));
        conditions.try_for_each(|(path, condition)| check_condition(path, condition))
    }

    pub(crate) fn sets(&self, path: &PropertyPath) -> bool {
        self.set.contains(path) || self.writes.iter().any(|step| step.set.contains(path))
    }

    pub(crate) fn per_day(&self) -> Option<f64> {
        self.frequency.map(|frequency| frequency.per_day)
    }
}

fn check_condition(path: &PropertyPath, condition: &FilterCondition) -> anyhow::Result<()> {
    let problem = match condition {
        FilterCondition::OneOf(values) if values.is_empty() => {
            "an empty list finds nothing; name the values"
        }
        FilterCondition::Range(ValueRange { from: None, to: None }) => {
            "a range has `from`, `to`, or both"
        }
        FilterCondition::Range(ValueRange { from: Some(from), to: Some(to) }) => {
            match compared(from, to) {
                None => "`from` and `to` are two texts, or two numbers",
                Some(Ordering::Less) => return Ok(()),
                Some(_) => "`from` is not before `to`, which is not part of it, so no item matches",
            }
        }
        _ => return Ok(()),
    };
    bail!("{path}: {problem}")
}

/// Compares two values as the service does: texts by their code points, numbers by size.
pub(crate) fn compared(a: &KeyValue, b: &KeyValue) -> Option<Ordering> {
    match (a, b) {
        (KeyValue::Text(a), KeyValue::Text(b)) => Some(a.cmp(b)),
        (KeyValue::Number(a), KeyValue::Number(b)) => a.as_f64()?.partial_cmp(&b.as_f64()?),
        _ => None,
    }
}

impl TryFrom<Value> for RequestFilter {
    type Error = anyhow::Error;

    fn try_from(value: Value) -> anyhow::Result<Self> {
        if value == "?" {
            return Ok(Self::Drawn);
        }
        if let Some(last) = value.get("last")
            && value.as_object().is_some_and(|filter| filter.len() == 1)
        {
            let seconds = last.as_str().and_then(seconds).with_context(|| {
                format!("`{last}` is no length of time: write such as \"30 days\", \"12 hours\" or \"3 months\"")
            })?;
            return Ok(Self::Last(seconds));
        }
        FilterCondition::deserialize(&value).map(Self::Fixed).map_err(|_| {
            anyhow!(
                "`{value}` is no condition: write \"?\" for a value of the sample, {{\"last\": \"30 days\"}}, a \
                 value, a list of values, or {{\"from\": …, \"to\": …}}"
            )
        })
    }
}

impl From<RequestFilter> for Value {
    fn from(wanted: RequestFilter) -> Self {
        match wanted {
            RequestFilter::Drawn => Self::from("?"),
            RequestFilter::Last(seconds) => {
                serde_json::json!({"last": format!("{seconds} seconds")})
            }
            RequestFilter::Fixed(condition) => serde_json::to_value(condition).unwrap_or_default(),
        }
    }
}

/// Parses a length of time, such as `30 days`, into seconds. A month has 30 days, a year 365.
fn seconds(text: &str) -> Option<i64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let number: u32 = number.parse().ok().filter(|&number| number > 0)?;
    let unit = unit.trim();
    let unit: i64 = match unit.strip_suffix('s').unwrap_or(unit) {
        "second" => 1,
        "minute" => 60,
        "hour" => 3_600,
        "day" => 86_400,
        "week" => 7 * 86_400,
        "month" => 30 * 86_400,
        "year" => 365 * 86_400,
        _ => return None,
    };
    Some(i64::from(number) * unit)
}

impl TryFrom<String> for OrderBy {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        let trimmed = text.trim();
        let (path, descending) = match trimmed.rsplit_once(' ') {
            Some((path, word)) if word.eq_ignore_ascii_case("desc") => (path, true),
            Some((path, word)) if word.eq_ignore_ascii_case("asc") => (path, false),
            _ => (trimmed, false),
        };
        let path = path
            .trim()
            .parse()
            .map_err(|_| anyhow!("`{text}` is no order: write such as \"/createdAt desc\""))?;
        Ok(Self { path, descending })
    }
}

impl From<OrderBy> for String {
    fn from(order: OrderBy) -> Self {
        format!("{} {}", order.path, if order.descending { "desc" } else { "asc" })
    }
}
