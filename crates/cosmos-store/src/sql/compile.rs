//! From the tree of a query to its compiled form: names are resolved, functions and aggregates are found and checked.

use cosmos_model::sql::{Count, Expr, Query, Select, Source, Test, Values};

use crate::{Refusal, json::Json};

use super::{
    eval::{Link, Node, Step},
    functions,
    groups::Aggregate,
    operators::{like_parts, order},
    plan::{From, Plan},
    refused,
};

/// A list of constants of IN that is at least so long is sorted.
const MIN_SORTED: usize = 4;

/// The name of a source, in the order of the frames.
#[derive(Clone)]
struct Alias<'q> {
    name: Option<&'q str>,
    is_item: bool,
}

/// What stands for an expression behind GROUP BY.
struct Grouping<'q> {
    by: &'q [Expr],
    aggregates: Vec<(Aggregate, Node)>,
    /// The names that aggregates may use, but nothing else.
    scope: Vec<Alias<'q>>,
}

pub(super) struct Compiler<'q> {
    parameters: &'q [(String, Json)],
    scope: Vec<Alias<'q>>,
    grouping: Option<Grouping<'q>>,
    /// The properties of the item that were named; `None` when all are needed.
    needed: Option<Vec<Box<str>>>,
}

impl<'q> Compiler<'q> {
    /// Begins with the item as the only frame; it has no name.
    pub(super) fn new(parameters: &'q [(String, Json)]) -> Self {
        let scope = vec![Alias { name: None, is_item: true }];
        Self { parameters, scope, grouping: None, needed: Some(Vec::new()) }
    }

    /// Gives the item a name.
    pub(super) fn with_item(mut self, name: &'q str) -> Self {
        self.scope = vec![Alias { name: Some(name), is_item: true }];
        self
    }

    pub(super) fn needed(self) -> Option<Vec<Box<str>>> {
        self.needed
    }

    /// Compiles a query, with the names that are known where it stands.
    pub(super) fn query(&mut self, query: &'q Query) -> Result<Plan, Refusal> {
        let outer = self.scope.clone();
        let grouping = self.grouping.take();
        let plan = self.query_within(query);
        self.scope = outer;
        self.grouping = grouping;
        plan
    }

    fn query_within(&mut self, query: &'q Query) -> Result<Plan, Refusal> {
        if query.by_rank {
            return Err(missing("ORDER BY RANK"));
        }
        let outer = self.scope.clone();
        let mut sources = Vec::new();
        for source in &query.from {
            sources.push(self.source(source)?);
        }
        let filter = query.filter.as_ref().map(|filter| self.expr(filter)).transpose()?;
        let group = self.all(&query.group_by)?;
        let selected: Vec<&Expr> = match &query.select {
            Select::All => Vec::new(),
            Select::Value(value) => vec![value],
            Select::List(all) => all.iter().map(|(value, _)| value).collect(),
        };
        let ordered = query.order_by.iter().map(|order| &order.by);
        let is_grouped =
            !query.group_by.is_empty() || selected.into_iter().chain(ordered).any(sums_up);
        if is_grouped {
            let scope = std::mem::replace(&mut self.scope, outer);
            self.grouping = Some(Grouping { by: &query.group_by, aggregates: Vec::new(), scope });
        }
        let result = self.select(query)?;
        let mut order = Vec::new();
        for by in &query.order_by {
            order.push((self.expr(&by.by)?, by.descending || is_similarity(&by.by)));
        }
        let top = query.top.as_ref().map(|count| self.count(count, "TOP")).transpose()?;
        let offset_limit = match &query.offset_limit {
            Some((offset, limit)) => {
                Some((self.count(offset, "OFFSET")?, self.count(limit, "LIMIT")?))
            }
            None => None,
        };
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

    fn source(&mut self, source: &'q Source) -> Result<From, Refusal> {
        let alias = source.alias.as_deref();
        let (compiled, alias) = match &source.values {
            Values::Query(query) => {
                (From::Plan(self.query(query)?), Alias { name: alias, is_item: false })
            }
            Values::Path(name, steps) => {
                // The first name of all is that of the container, whatever it is.
                let is_container = self.scope.iter().all(|alias| alias.name.is_none());
                let slot =
                    if is_container { Some((self.scope.len() - 1, true)) } else { self.find(name) };
                let (slot, is_item) = slot.ok_or_else(|| unresolved(name))?;
                let path: Vec<Step> = steps.iter().map(|step| Self::step(step.into())).collect();
                let is_item = is_item && path.is_empty();
                let last = steps.iter().rev().find_map(|step| step.as_str());
                let name = alias.or(last).or(Some(name));
                let node = if is_item { Node::Slot(slot) } else { self.path(slot, path) };
                (
                    From::Node(node, source.iterates),
                    Alias { name, is_item: is_item && !source.iterates },
                )
            }
        };
        self.scope.push(alias);
        Ok(compiled)
    }

    fn select(&mut self, query: &'q Query) -> Result<Node, Refusal> {
        match &query.select {
            Select::All if query.from.is_empty() => {
                Err(refused("", "'SELECT *' is not valid if FROM clause is omitted.", None))
            }
            Select::All if query.from.len() > 1 => {
                Err(refused("", "'SELECT *' is only valid with a single input set.", None))
            }
            Select::All if self.grouping.is_some() => {
                Err(refused("", "'SELECT *' is not valid with 'GROUP BY'.", None))
            }
            Select::All => {
                self.use_whole(self.scope.len() - 1);
                Ok(Node::Slot(0))
            }
            Select::Value(value) => self.expr(value),
            Select::List(all) => {
                let mut unnamed = 0;
                let mut properties = Vec::with_capacity(all.len());
                for (value, alias) in all {
                    let name = alias.as_deref().or(match value {
                        Expr::Name(name) => Some(name),
                        Expr::Member(_, step) => match &**step {
                            Expr::Literal(serde_json::Value::String(name)) => Some(name),
                            _ => None,
                        },
                        _ => None,
                    });
                    let name = name.map_or_else(
                        || {
                            unnamed += 1;
                            format!("${unnamed}").into()
                        },
                        Box::from,
                    );
                    properties.push((name, self.expr(value)?));
                }
                Ok(Node::Object(properties))
            }
        }
    }

    fn count(&self, count: &Count, clause: &str) -> Result<u32, Refusal> {
        let number = match count {
            Count::Literal(number) => Some(*number),
            Count::Parameter(name) => self
                .parameter(name)?
                .as_f64()
                .and_then(functions::index)
                .and_then(|n| n.try_into().ok()),
        };
        number.filter(|number| i32::try_from(*number).is_ok()).ok_or_else(|| {
            refused(
                "",
                &format!("The {clause} clause needs a whole number between 0 and 2147483647."),
                None,
            )
        })
    }

    fn parameter(&self, name: &str) -> Result<&'q Json, Refusal> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value).ok_or_else(|| unresolved(name))
    }

    /// Returns how many frames further out the source of a name is, and whether its value is the item.
    fn find(&self, name: &str) -> Option<(usize, bool)> {
        let found = self.scope.iter().rev().enumerate().find(|(_, alias)| alias.name == Some(name));
        found.map(|(distance, alias)| (distance, alias.is_item))
    }

    /// Notes that the item as a whole is needed, if the value of a slot is the item.
    fn use_whole(&mut self, place: usize) {
        if self.scope.get(place).is_some_and(|alias| alias.is_item) {
            self.needed = None;
        }
    }

    /// Compiles the members below a source.
    fn path(&mut self, slot: usize, steps: Vec<Step>) -> Node {
        let place = self.scope.len() - 1 - slot;
        match (steps.first(), &mut self.needed) {
            (Some(Step::Name(name)), Some(needed))
                if self.scope.get(place).is_some_and(|alias| alias.is_item) =>
            {
                if !needed.contains(name) {
                    needed.push(name.clone());
                }
            }
            (Some(Step::Name(_)), _) => (),
            _ => self.use_whole(place),
        }
        if steps.is_empty() {
            Node::Slot(slot)
        } else {
            Node::Path(Box::new(Node::Slot(slot)), steps)
        }
    }

    fn step(step: Json) -> Step {
        if let Json::Text(name) = step { Step::Name(name) } else { Step::Of(Node::Constant(step)) }
    }

    pub(super) fn all(&mut self, all: &'q [Expr]) -> Result<Vec<Node>, Refusal> {
        all.iter().map(|expr| self.expr(expr)).collect()
    }

    /// Returns the place of an expression of GROUP BY.
    fn grouped(&self, expr: &Expr) -> Option<usize> {
        self.grouping.as_ref()?.by.iter().position(|by| by == expr)
    }

    /// Compiles an expression.
    pub(super) fn expr(&mut self, expr: &'q Expr) -> Result<Node, Refusal> {
        if let Some(n) = self.grouped(expr) {
            return Ok(Node::Computed(n));
        }
        Ok(match expr {
            Expr::Undefined => Node::Undefined,
            Expr::Literal(value) => Node::Constant(value.into()),
            Expr::Parameter(name) => Node::Constant(self.parameter(name)?.clone()),
            Expr::Name(name) => {
                let (slot, _) = self.find(name).ok_or_else(|| self.unknown(name))?;
                self.path(slot, Vec::new())
            }
            Expr::Member(..) => {
                let mut steps = Vec::new();
                let mut at = expr;
                while let Expr::Member(of, step) = at
                    && self.grouped(at).is_none()
                {
                    steps.push(match self.expr(step)? {
                        Node::Constant(step) => Self::step(step),
                        step => Step::Of(step),
                    });
                    at = of;
                }
                steps.reverse();
                match at {
                    Expr::Name(name) if self.grouped(at).is_none() => {
                        let (slot, _) = self.find(name).ok_or_else(|| self.unknown(name))?;
                        self.path(slot, steps)
                    }
                    _ => Node::Path(Box::new(self.expr(at)?), steps),
                }
            }
            Expr::Array(all) => Node::Array(self.all(all)?),
            Expr::Object(all) => {
                let all =
                    all.iter().map(|(name, value)| Ok((name.as_str().into(), self.expr(value)?)));
                Node::Object(all.collect::<Result<_, Refusal>>()?)
            }
            Expr::Unary(..) => {
                let mut operators = Vec::new();
                let mut at = expr;
                while let Expr::Unary(operator, of) = at
                    && self.grouped(at).is_none()
                {
                    operators.push(*operator);
                    at = of;
                }
                operators.reverse();
                Node::Unary(operators, Box::new(self.expr(at)?))
            }
            Expr::Binary(..) | Expr::Test(..) => {
                let mut operators = Vec::new();
                let mut at = expr;
                while let Expr::Binary(_, left, _) | Expr::Test(left, ..) = at
                    && self.grouped(at).is_none()
                {
                    operators.push(at);
                    at = left;
                }
                let first = self.expr(at)?;
                let links = operators.into_iter().rev().map(|operator| self.link(operator));
                Node::Chain(Box::new(first), links.collect::<Result<_, _>>()?)
            }
            Expr::Logical(operator, all) => Node::Logical(*operator, self.all(all)?),
            Expr::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                let parts = [self.expr(condition)?, self.expr(then)?, self.expr(otherwise)?];
                Node::Conditional(Box::new(parts))
            }
            Expr::Call(name, arguments) => self.call(name, arguments)?,
            Expr::Query(quantifier, query) => {
                Node::Query(*quantifier, Box::new(self.query(query)?))
            }
        })
    }

    fn link(&mut self, operator: &'q Expr) -> Result<Link, Refusal> {
        Ok(match operator {
            Expr::Binary(operator, _, right) => Link::Binary(*operator, self.expr(right)?),
            Expr::Test(_, test, is_negated) => match &**test {
                Test::In(all) => {
                    let all = self.all(all)?;
                    let is_constant = |node: &Node| matches!(node, Node::Constant(_));
                    if all.len() < MIN_SORTED || !all.iter().all(is_constant) {
                        return Ok(Link::In(all, *is_negated));
                    }
                    let values = all.into_iter().filter_map(|node| {
                        if let Node::Constant(value) = node { Some(value) } else { None }
                    });
                    Link::InConstants(sorted(values.collect()), *is_negated)
                }
                Test::Between(from, to) => {
                    Link::Between(Box::new([self.expr(from)?, self.expr(to)?]), *is_negated)
                }
                Test::Like(pattern, escape) => {
                    let escape = escape.as_deref().map(|escape| {
                        let mut characters = escape.chars();
                        characters.next().filter(|_| characters.next().is_none()).ok_or_else(|| {
                            refused("", "The ESCAPE of LIKE must be a single character.", None)
                        })
                    });
                    let escape = escape.transpose()?;
                    match self.expr(pattern)? {
                        Node::Constant(Json::Text(pattern)) => {
                            Link::LikeConstant(like_parts(&pattern, escape), *is_negated)
                        }
                        pattern => Link::Like(pattern, escape, *is_negated),
                    }
                }
            },
            other => Link::Binary(cosmos_model::sql::Binary::Coalesce, self.expr(other)?),
        })
    }

    fn call(&mut self, name: &str, arguments: &'q [Expr]) -> Result<Node, Refusal> {
        if name.starts_with("udf.") {
            return Err(missing(&format!("The user-defined function {name}")));
        }
        let Some(aggregate) = Aggregate::named(name) else {
            let function = functions::named(name)?;
            if !(function.least..=function.most).contains(&arguments.len()) {
                let text = match (function.least, function.most) {
                    (least, most) if least == most => format!("{least} argument(s)"),
                    (least, usize::MAX) => format!("at least {least} argument(s)"),
                    (least, most) => format!("{least} to {most} argument(s)"),
                };
                return Err(refused("", &format!("The {name} function requires {text}."), None));
            }
            let mut arguments = self.all(arguments)?;
            // A list that every item is looked up in.
            if name == "ARRAY_CONTAINS"
                && let [Node::Constant(Json::Array(_)), _] = &arguments[..]
                && let (Some(of), Some(Node::Constant(Json::Array(all)))) =
                    (arguments.pop(), arguments.pop())
            {
                return Ok(Node::Chain(Box::new(of), vec![Link::InConstants(sorted(all), false)]));
            }
            return Ok(Node::Call(function, arguments));
        };
        let [argument] = arguments else {
            return Err(refused("", &format!("The {name} function requires 1 argument(s)."), None));
        };
        // The argument is that of each row, before they are grouped.
        let Some(mut grouping) = self.grouping.take() else {
            let text = format!(
                "The aggregate function {name} is not allowed here: it belongs into SELECT or ORDER BY, and not into another aggregate."
            );
            return Err(refused("", &text, None));
        };
        std::mem::swap(&mut self.scope, &mut grouping.scope);
        let node = self.expr(argument);
        std::mem::swap(&mut self.scope, &mut grouping.scope);
        let place = grouping.by.len() + grouping.aggregates.len();
        grouping.aggregates.push((aggregate, node?));
        self.grouping = Some(grouping);
        Ok(Node::Computed(place))
    }

    /// Returns the refusal of a name.
    fn unknown(&self, name: &str) -> Refusal {
        let hidden = self.grouping.iter().flat_map(|grouping| &grouping.scope);
        if hidden.into_iter().any(|alias| alias.name == Some(name)) {
            let text = format!(
                "Property reference '{name}' is invalid in the select list because it is not contained in either an aggregate function or the GROUP BY clause."
            );
            return refused("SC2102", &text, None);
        }
        unresolved(name)
    }
}

fn sorted(mut values: Vec<Json>) -> Vec<Json> {
    values.sort_by(|one, other| order(Some(one), Some(other)));
    values
}

/// Returns whether an expression has an aggregate.
fn sums_up(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |part| {
        found |= matches!(part, Expr::Call(name, _) if Aggregate::named(name).is_some());
    });
    found
}

/// Returns whether an expression is greater the more similar two vectors are. Their order is always that the most
/// similar ones come first.
fn is_similarity(expr: &Expr) -> bool {
    let Expr::Call(name, arguments) = expr else { return false };
    let option = arguments.get(3).and_then(|options| {
        let Expr::Object(options) = options else { return None };
        options.iter().find(|(name, _)| name == "distanceFunction").map(|(_, metric)| metric)
    });
    let is_distance = option.is_some_and(|metric| {
        matches!(metric, Expr::Literal(serde_json::Value::String(metric)) if metric.eq_ignore_ascii_case("euclidean"))
    });
    name == "VECTORDISTANCE" && !is_distance
}

fn unresolved(name: &str) -> Refusal {
    refused("SC2001", &format!("Identifier '{name}' could not be resolved."), None)
}

/// Returns the refusal of what the service has, but this store has not.
pub(super) fn missing(what: &str) -> Refusal {
    Refusal::new(400, format!("{what} is not supported by this store."))
}
