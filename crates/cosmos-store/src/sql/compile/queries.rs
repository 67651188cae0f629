//! The clauses of a query.

use cosmos_model::sql::{Count, Expr, Query, Select, Source, Values};
use serde_json::Value;

use crate::{
    Result,
    sql::{
        eval::{Node, Step},
        functions,
        groups::Aggregate,
        plan::{From, Plan},
        refused,
    },
};

use super::{Alias, Compiler, Grouping};

/// The service's text for an ORDER BY of anything but properties.
pub(crate) const NO_PATH: &str =
    "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.";

impl<'q> Compiler<'q> {
    /// Compiles a query within a query, with the names that are known where it stands.
    pub(super) fn subquery(&mut self, query: &'q Query) -> Result<Plan> {
        let outer = self.scope.clone();
        let grouping = self.grouping.take();
        let is_within = std::mem::replace(&mut self.is_within, true);
        let plan = self.query(query);
        self.is_within = is_within;
        self.scope = outer;
        self.grouping = grouping;
        plan
    }

    pub(in crate::sql) fn query(&mut self, query: &'q Query) -> Result<Plan> {
        if self.is_within {
            for (is_there, code, clause) in [
                (query.top.is_some(), "SC2203", "'TOP' is"),
                (query.offset_limit.is_some(), "SC2204", "'OFFSET LIMIT' clause is"),
                (!query.order_by.is_empty(), "", "'ORDER BY' is"),
            ] {
                if is_there {
                    let message = format!("{clause} not supported in subqueries.");
                    return Err(refused(code, &message, None));
                }
            }
        }
        let mut outer = self.scope.clone();
        let mut sources = Vec::new();
        for source in &query.from {
            sources.push(self.source(source)?);
        }
        let filter = query.filter.as_ref().map(|filter| self.expr(filter)).transpose()?;
        let group = self.all(&query.group_by)?;
        let selected = query.select.values().into_iter();
        let ordered = query.order_by.iter().map(|order| &order.by);
        let is_grouped = !query.group_by.is_empty() || selected.chain(ordered).any(sums_up);
        // Without GROUP BY there is one result, which no order changes.
        let is_total = is_grouped && query.group_by.is_empty();
        for by in query.order_by.iter().filter(|_| is_total) {
            if by.by.property().is_none() {
                return Err(refused("SC2206", NO_PATH, None));
            }
            self.expr(&by.by)?;
        }
        if is_grouped {
            // Behind GROUP BY there is no item: no name is that of the container.
            for alias in &mut outer {
                alias.name.get_or_insert_default();
            }
            let scope = std::mem::replace(&mut self.scope, outer);
            self.grouping = Some(Grouping {
                by: &query.group_by,
                aggregates: Vec::new(),
                scope,
                clause: ("select list", "SC2102"),
            });
        }
        let result = self.select(query)?;
        if let Some(grouping) = &mut self.grouping {
            grouping.clause = ("ORDER BY clause", "SC2103");
        }
        let mut order = Vec::new();
        for by in query.order_by.iter().filter(|_| !is_total) {
            if by.has_direction && is_vector_distance(&by.by) {
                let message = "Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported.";
                return Err(refused("", message, None));
            }
            order.push((self.expr(&by.by)?, by.descending || is_similarity(&by.by)));
        }
        let top = query.top.as_ref().map(|count| self.count(count, "TOP")).transpose()?;
        let offset_limit = query.offset_limit.as_ref().map(|(offset, limit)| {
            Ok((self.count(offset, "OFFSET")?, self.count(limit, "LIMIT")?))
        });
        let offset_limit = offset_limit.transpose()?;
        if top.is_some() && offset_limit.is_some() {
            return Err(refused("", "'TOP' and 'OFFSET LIMIT' cannot be used together.", None));
        }
        let aggregates =
            self.grouping.take().map(|grouping| grouping.aggregates).unwrap_or_default();
        let distinct = query.distinct;
        Ok(Plan {
            sources,
            filter,
            group,
            aggregates,
            is_grouped,
            order,
            result,
            distinct,
            top,
            offset_limit,
        })
    }

    fn source(&mut self, source: &'q Source) -> Result<From> {
        let alias = source.alias.as_deref();
        let (compiled, alias) = match &source.values {
            Values::Query(query) => {
                (From::Plan(self.subquery(query)?), Alias { name: alias, is_item: false })
            }
            Values::Path(name, steps) => {
                // The first name of all is that of the container, whatever it is.
                let is_container = self.scope.iter().all(|alias| alias.name.is_none());
                let slot =
                    if is_container { Some((self.scope.len() - 1, true)) } else { self.find(name) };
                let (slot, is_item) = slot.ok_or_else(|| self.unresolved(name))?;
                let path: Vec<Step> = steps.iter().map(|step| Self::step(step.into())).collect();
                let is_item = is_item && path.is_empty();
                let last = steps.iter().rev().find_map(|step| step.as_str());
                let name = alias.or(last).or(Some(name));
                let node = if is_item { Node::Slot(slot) } else { self.path(slot, path) };
                let is_item = is_item && !source.iterates;
                (From::Node(node, source.iterates), Alias { name, is_item })
            }
        };
        self.scope.push(alias);
        Ok(compiled)
    }

    fn select(&mut self, query: &'q Query) -> Result<Node> {
        let no = |what| Err(refused("", &format!("'SELECT *' is {what}."), None));
        match &query.select {
            Select::All if query.from.is_empty() => no("not valid if FROM clause is omitted"),
            Select::All if query.from.len() > 1 => no("only valid with a single input set"),
            Select::All if self.grouping.is_some() => no("not valid with 'GROUP BY'"),
            Select::All => {
                self.use_whole(self.scope.len() - 1);
                Ok(Node::Slot(0))
            }
            Select::Value(value) => self.expr(value),
            Select::List(_) => {
                let columns = columns(&query.select).into_iter();
                let columns = columns.map(|(name, value)| Ok((name.into(), self.expr(value)?)));
                Ok(Node::Object(columns.collect::<Result<_>>()?))
            }
        }
    }

    fn count(&self, count: &Count, clause: &str) -> Result<u32> {
        let number = match count {
            Count::Literal(number) => Some(*number),
            Count::Parameter(name) => {
                let number = self.parameter(name)?.as_f64().and_then(functions::index);
                number.and_then(|number| number.try_into().ok())
            }
        };
        number.filter(|number| i32::try_from(*number).is_ok()).ok_or_else(|| {
            let message = "needs a whole number between 0 and 2147483647.";
            refused("", &format!("The {clause} clause {message}"), None)
        })
    }
}

/// Returns the columns of a result and their names; that of VALUE has none that counts.
pub(crate) fn columns(select: &Select) -> Vec<(String, &Expr)> {
    let mut n_unnamed = 0;
    let mut name = |expr: &Expr| match expr {
        Expr::Name(name) => name.clone(),
        Expr::Member(_, step) if let Expr::Literal(Value::String(name)) = &**step => name.clone(),
        _ => {
            n_unnamed += 1;
            format!("${n_unnamed}")
        }
    };
    match select {
        Select::All => Vec::new(),
        Select::Value(value) => vec![(String::new(), value)],
        Select::List(list) => {
            let named = list.iter().map(|(expr, alias)| (alias.clone(), expr));
            named.map(|(alias, expr)| (alias.unwrap_or_else(|| name(expr)), expr)).collect()
        }
    }
}

/// Returns whether an expression has an aggregate.
pub(crate) fn sums_up(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| {
        found |= matches!(part, Expr::Call(name, _) if Aggregate::named(name).is_some());
    });
    found
}

pub(crate) fn is_vector_distance(expr: &Expr) -> bool {
    matches!(expr, Expr::Call(name, _) if name == "VECTORDISTANCE")
}

/// Returns whether an expression is greater the more similar two vectors are. Their order is always that the most
/// similar ones come first.
fn is_similarity(expr: &Expr) -> bool {
    let Expr::Call(_, arguments) = expr else { return false };
    let option = arguments.get(3).and_then(|options| {
        let Expr::Object(options) = options else { return None };
        options.iter().find(|(name, _)| name == "distanceFunction").map(|(_, metric)| metric)
    });
    let is_distance = option.is_some_and(|metric| {
        matches!(metric, Expr::Literal(Value::String(metric)) if metric.eq_ignore_ascii_case("euclidean"))
    });
    is_vector_distance(expr) && !is_distance
}
