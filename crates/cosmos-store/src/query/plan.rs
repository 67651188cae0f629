//! The plan of a query over several partitions, as the gateway gives it to SDKs.
//!
//! An SDK asks each partition the rewritten query and merges the answers. The forms of the rewritten queries are those
//! of the .NET SDK's baselines (`QueryPlanBaselineTests`): rows of ORDER BY come as `_rid`, `orderByItems`, `payload`;
//! groups as `groupByItems`, `payload`; an aggregate as `{"item": …}`.

use cosmos_model::sql::{Count, Expr, Logical, Query, Select, Values};
use serde_json::{Map, Value, json};

use super::rank::info;
use super::{
    container::{Policy, is_by_distance, resolved},
    keys,
};
use crate::{
    Refusal, Result,
    engine::{ContainerId, Definition, EpkRange, View},
    sql::{self, Prepared, columns, sums_up},
};

/// The text that an SDK replaces by the place where a partition goes on.
pub(super) const FILTER: &str = "({documentdb-formattableorderbyquery-filter})";

/// Returns the plan as JSON: `partitionedQueryExecutionInfoVersion`, `queryInfo` with the query that each partition
/// is to answer, and `queryRanges`. Errors: 400 for a feature that the SDK does not say it supports
/// (`x-ms-cosmos-supported-query-features`), and for what no SDK can merge: an aggregate within another expression.
pub(crate) fn plan(
    view: &View,
    container: ContainerId,
    query: &Prepared,
    definition: &Definition,
    supported_features: &str,
) -> Result<Value> {
    let distinct_count = distinct_count(&query.query);
    let asked = distinct_count.as_ref().map_or(&query.query, |(inner, _)| *inner);
    let keys = keys::of_filter(view, container, asked, query, definition)?;
    let is_one = |keys: &Vec<EpkRange>| keys.len() < 2 && keys.iter().all(EpkRange::is_point);
    let mut plan = Plan {
        query,
        is_of_one_key: keys.as_ref().is_some_and(is_one),
        needs: Vec::new(),
        info: json!({
            "distinctType": "None",
            "top": null,
            "offset": null,
            "limit": null,
            "orderBy": [],
            "orderByExpressions": [],
            "groupByExpressions": [],
            "groupByAliases": [],
            "aggregates": [],
            "groupByAliasToAggregateType": {},
            "rewrittenQuery": "",
            "hasSelectValue": matches!(query.query.select, Select::Value(_)),
            "dCountInfo": null,
            "hasNonStreamingOrderBy": false,
        }),
    };
    // The queries for the scores of ORDER BY RANK are the same for one key.
    let has_direction = query.query.order_by.iter().any(|order| order.has_direction);
    plan.is_of_one_key &= !(has_direction && is_by_distance(&query.query));
    match distinct_count {
        Some((inner, alias)) => {
            plan.needs.push("DCount");
            plan.info["distinctType"] = "Unordered".into();
            plan.info["dCountInfo"] = json!({"dCountAlias": alias});
            plan.info["rewrittenQuery"] = inner.to_string().into();
        }
        None if query.query.by_rank => {
            plan.needs.push("HybridSearch");
            if !query.weights.is_empty() {
                plan.needs.push("WeightedRankFusion");
            }
        }
        None => plan.fill(definition)?,
    }
    let supported: Vec<&str> = supported_features.split(',').map(str::trim).collect();
    plan.needs.retain(|feature| !supported.contains(feature));
    if plan.needs.contains(&"NonValueAggregate") {
        let message = "Cross partition query only supports 'VALUE <AggregateFunc>' for aggregates.";
        return Err(Refusal::new(400, message));
    }
    if !plan.needs.is_empty() {
        let contained = plan.needs.iter().map(|feature| {
            format!("\nQuery contained {feature}, which the calling client does not support.")
        });
        let message = format!(
            "Query contains 1 or more unsupported features. Upgrade your SDK to a version that does support the \
             requested features:{}",
            contained.collect::<String>(),
        );
        return Err(Refusal::new(400, message));
    }
    let (name, info) = if query.query.by_rank {
        ("hybridSearchQueryInfo", info(view, container, query, definition)?)
    } else {
        ("queryInfo", plan.info)
    };
    Ok(json!({
        "partitionedQueryExecutionInfoVersion": 2,
        name: info,
        "queryRanges": keys::to_json(keys.as_deref()),
    }))
}

struct Plan<'a> {
    query: &'a Prepared,
    is_of_one_key: bool,
    /// Features that the SDK has to support.
    needs: Vec<&'static str>,
    info: Value,
}

impl Plan<'_> {
    fn fill(&mut self, definition: &Definition) -> Result<()> {
        let query = &self.query.query;
        let columns = columns(&query.select);
        let has_aggregate = columns.iter().any(|(_, column)| sums_up(column));
        let is_grouped = !query.group_by.is_empty();
        if let Some(top) = self.query.plan.top {
            self.needs.push("Top");
            self.info["top"] = top.into();
        }
        if self.is_of_one_key && !has_aggregate && !is_grouped && !query.distinct {
            // The one partition answers the query as it is.
            return Ok(());
        }
        let composed = |(_, it): &(String, &Expr)| sums_up(it) && aggregate(it).is_none();
        if columns.iter().any(composed) {
            if self.is_of_one_key {
                self.info["top"] = Value::Null;
                return Ok(());
            }
            let message = "Compositions of aggregates and other expressions are not allowed.";
            return Err(Refusal::new(400, message));
        }
        let mut rewritten = None;
        if query.distinct {
            self.needs.push("Distinct");
            self.info["distinctType"] =
                if is_ordered_distinct(query) { "Ordered" } else { "Unordered" }.into();
        }
        if has_aggregate || is_grouped {
            rewritten = Some(self.aggregated(query, &columns));
        } else if !query.order_by.is_empty() {
            rewritten = Some(self.ordered(definition, columns)?);
        }
        if let Some((offset, limit)) = self.query.plan.offset_limit {
            self.needs.push("OffsetAndLimit");
            self.info["offset"] = offset.into();
            self.info["limit"] = limit.into();
            let rewritten = rewritten.get_or_insert_with(|| query.clone());
            let limit = Count::Literal(offset.saturating_add(limit));
            rewritten.offset_limit = Some((Count::Literal(0), limit));
        }
        let is_limited = query.offset_limit.is_some() || query.top.is_some();
        if is_limited && (has_aggregate || is_grouped || query.distinct) {
            // The limits count results after the merge.
            let rewritten = rewritten.get_or_insert_with(|| query.clone());
            rewritten.top = None;
            rewritten.offset_limit = None;
        }
        self.info["rewrittenQuery"] =
            rewritten.map(|query| query.to_string()).unwrap_or_default().into();
        Ok(())
    }

    /// Aggregates and groups: `SELECT VALUE [{"item": …}]`, or `groupByItems` and `payload`.
    fn aggregated(&mut self, query: &Query, columns: &[(String, &Expr)]) -> Query {
        let mut rewritten = query.clone();
        let mut n_aggregates = 0;
        let mut payload = |(_, column): &(String, &Expr)| match aggregate(column) {
            None => ((*column).clone(), None),
            Some((name, argument)) => {
                n_aggregates += 1;
                (partial(name, argument), sql::aggregate_type(name))
            }
        };
        let payload = if let Select::Value(_) = query.select {
            let (payload, kind) = columns.first().map_or((Expr::Undefined, None), &mut payload);
            self.info["aggregates"] = kind.into_iter().collect();
            if kind.is_some() { Expr::Array(vec![payload]) } else { payload }
        } else {
            let mut types = Map::new();
            let payloads = columns.iter().map(|column| {
                let (payload, kind) = payload(column);
                types.insert(column.0.clone(), kind.into());
                (column.0.clone(), payload)
            });
            let payload = Expr::Object(payloads.collect());
            self.info["groupByAliases"] = columns.iter().map(|(name, _)| name.as_str()).collect();
            self.info["groupByAliasToAggregateType"] = types.into();
            payload
        };
        let kinds = columns.iter().filter_map(|(_, column)| Some(aggregate(column)?.0));
        self.needs.extend(kinds.filter_map(|name| match name {
            "COUNTIF" => Some("CountIf"),
            "MAKELIST" | "MAKESET" => Some("ListAndSetAggregate"),
            _ => None,
        }));
        if n_aggregates > 1 {
            self.needs.push("MultipleAggregates");
        } else if n_aggregates == 1 {
            self.needs.push("Aggregate");
        }
        let payload_column = |payload| (payload, Some("payload".to_owned()));
        if query.group_by.is_empty() {
            rewritten.select = if let Select::Value(_) = query.select {
                Select::Value(payload)
            } else {
                self.needs.push("NonValueAggregate");
                Select::List(vec![payload_column(payload)])
            };
        } else {
            self.needs.push("GroupBy");
            let by = query.group_by.iter().map(ToString::to_string);
            self.info["groupByExpressions"] = by.collect();
            let items = Expr::Array(query.group_by.iter().map(item).collect());
            let items = (items, Some("groupByItems".to_owned()));
            rewritten.select = Select::List(vec![items, payload_column(payload)]);
        }
        rewritten
    }

    /// ORDER BY: `_rid`, `orderByItems`, `payload`.
    fn ordered(&mut self, definition: &Definition, columns: Vec<(String, &Expr)>) -> Result<Query> {
        let query = &self.query.query;
        let message = "Order-by over correlated collections is not supported.";
        let root = query.root().ok_or_else(|| Refusal::new(400, message))?;
        self.needs.push("OrderBy");
        if query.order_by.len() > 1 {
            self.needs.push("MultipleOrderBy");
        }
        let resolved = resolved(self.query, definition, &Policy::new(definition))?;
        let directions = resolved.as_ref().unwrap_or(self.query).descending().into_iter();
        let name = |descending| if descending { "Descending" } else { "Ascending" };
        self.info["orderBy"] = directions.map(name).collect();
        self.info["orderByExpressions"] =
            query.order_by.iter().map(|order| order.by.to_string()).collect();
        if is_by_distance(query) {
            self.needs.push("NonStreamingOrderBy");
            self.info["hasNonStreamingOrderBy"] = true.into();
        }
        let root = Expr::Name(root.to_owned());
        let rid = Expr::Member(Box::new(root.clone()), Box::new(Expr::Literal("_rid".into())));
        let items = Expr::Array(query.order_by.iter().map(|order| item(&order.by)).collect());
        let mut conditions: Vec<Expr> = query.filter.iter().cloned().collect();
        conditions.push(Expr::Name(FILTER.to_owned()));
        let payload = match &query.select {
            Select::All => root,
            Select::Value(value) => {
                conditions.push(Expr::Call("IS_DEFINED".to_owned(), vec![value.clone()]));
                value.clone()
            }
            Select::List(_) => {
                let columns = columns.into_iter();
                Expr::Object(columns.map(|(name, column)| (name, column.clone())).collect())
            }
        };
        let filter = match <[Expr; 1]>::try_from(conditions) {
            Ok([filter]) => filter,
            Err(conditions) => Expr::Logical(Logical::And, conditions),
        };
        Ok(Query {
            distinct: false,
            select: Select::List(vec![
                (rid, None),
                (items, Some("orderByItems".to_owned())),
                (payload, Some("payload".to_owned())),
            ]),
            filter: Some(filter),
            ..query.clone()
        })
    }
}

/// Returns the query whose different results are counted, and the name of the count:
/// `SELECT COUNT(1) FROM (SELECT DISTINCT …)`.
pub(super) fn distinct_count(query: &Query) -> Option<(&Query, String)> {
    let [source] = query.from.as_slice() else { return None };
    let Values::Query(inner) = &source.values else { return None };
    let is_plain = |query: &Query| {
        query.group_by.is_empty()
            && query.order_by.is_empty()
            && query.top.is_none()
            && query.offset_limit.is_none()
    };
    let is_counted = !source.iterates && inner.distinct && is_plain(inner);
    if !is_counted || !is_plain(query) || query.distinct || query.filter.is_some() {
        return None;
    }
    let (name, count) = columns(&query.select).pop()?;
    let ("COUNT", Expr::Literal(_)) = aggregate(count)? else { return None };
    match &query.select {
        Select::Value(_) => Some((inner, String::new())),
        Select::List(list) if list.len() == 1 => Some((inner, name)),
        _ => None,
    }
}

fn item(of: &Expr) -> Expr {
    object([("item", of.clone())])
}

fn object<const N: usize>(properties: [(&str, Expr); N]) -> Expr {
    Expr::Object(properties.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns what a partition answers for an aggregate, from which the aggregate over all partitions can be made.
fn partial(name: &str, argument: &Expr) -> Expr {
    let call = |name: &str| Expr::Call(name.to_owned(), vec![argument.clone()]);
    let count = || ("count", call("COUNT"));
    match name {
        "AVG" => object([("item", object([("sum", call("SUM")), count()]))]),
        "MIN" | "MAX" => {
            let of = object([(if name == "MIN" { "min" } else { "max" }, call(name)), count()]);
            object([("item", call(name)), ("item2", of)])
        }
        name => object([("item", call(name))]),
    }
}

/// Returns the name and the argument of an aggregate.
fn aggregate(expr: &Expr) -> Option<(&str, &Expr)> {
    let Expr::Call(name, arguments) = expr else { return None };
    let [argument] = arguments.as_slice() else { return None };
    sql::aggregate_type(name).map(|_| (name.as_str(), argument))
}

/// Returns true if equal results come one after the other: `SELECT DISTINCT VALUE c.a FROM c ORDER BY c.a`.
fn is_ordered_distinct(query: &Query) -> bool {
    let by = query.order_by.as_slice();
    matches!((&query.select, by), (Select::Value(value), [order]) if *value == order.by)
}
