//! From the tree of a query to its compiled form: names are resolved, functions and aggregates are found and checked.

use cosmos_model::sql::{Expr, Test, locate};

use crate::{Refusal, Result, json::Json};

use super::{
    eval::{Link, Node, Step},
    functions,
    groups::Aggregate,
    operators::like_parts,
    refused,
};

mod queries;

pub(crate) use queries::{NO_PATH, columns, is_vector_distance, sums_up};

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
    /// Where it is now, and the service's code for a name that is not allowed there.
    clause: (&'static str, &'static str),
}

pub(super) struct Compiler<'q> {
    /// For the locations of errors; it may be empty.
    text: &'q str,
    parameters: &'q [(String, Json)],
    scope: Vec<Alias<'q>>,
    grouping: Option<Grouping<'q>>,
    /// Whether it is in a query within the query.
    is_within: bool,
    /// The properties of the item that were named; `None` when all are needed.
    needed: Option<Vec<Box<str>>>,
}

impl<'q> Compiler<'q> {
    /// Begins with the item as the only frame; it has no name.
    pub(super) fn new(text: &'q str, parameters: &'q [(String, Json)]) -> Self {
        let scope = vec![Alias { name: None, is_item: true }];
        Self { text, parameters, scope, grouping: None, is_within: false, needed: Some(Vec::new()) }
    }

    pub(super) fn needed(self) -> Option<Vec<Box<str>>> {
        self.needed
    }

    fn parameter(&self, name: &str) -> Result<&'q Json> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value).ok_or_else(|| self.unresolved(name))
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

    pub(super) fn all(&mut self, all: &'q [Expr]) -> Result<Vec<Node>> {
        all.iter().map(|expr| self.expr(expr)).collect()
    }

    fn grouped(&self, expr: &Expr) -> Option<usize> {
        self.grouping.as_ref()?.by.iter().position(|by| by == expr)
    }

    pub(super) fn expr(&mut self, expr: &'q Expr) -> Result<Node> {
        if let Some(n) = self.grouped(expr) {
            return Ok(Node::Computed(n));
        }
        Ok(match expr {
            Expr::Undefined => Node::Undefined,
            Expr::Literal(value) => Node::Constant(value.into()),
            Expr::Parameter(name) => Node::Constant(self.parameter(name)?.clone()),
            Expr::Name(name) => {
                let (slot, _) = self.find(name).ok_or_else(|| self.unknown(name, &[]))?;
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
                        let (slot, _) =
                            self.find(name).ok_or_else(|| self.unknown(name, &steps))?;
                        self.path(slot, steps)
                    }
                    _ => Node::Path(Box::new(self.expr(at)?), steps),
                }
            }
            Expr::Array(all) => Node::Array(self.all(all)?),
            Expr::Object(all) => {
                let all =
                    all.iter().map(|(name, value)| Ok((name.as_str().into(), self.expr(value)?)));
                Node::Object(all.collect::<Result<_>>()?)
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
                Node::Query(*quantifier, Box::new(self.subquery(query)?))
            }
        })
    }

    fn link(&mut self, operator: &'q Expr) -> Result<Link> {
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

    fn call(&mut self, name: &str, arguments: &'q [Expr]) -> Result<Node> {
        if name.starts_with("udf.") {
            return Err(missing(&format!("The user-defined function {name}")));
        }
        let Some(aggregate) = Aggregate::named(name) else {
            let function = functions::named(name, || self.locate(name))?;
            if !(function.least..=function.most).contains(&arguments.len()) {
                let text = match (function.least, function.most) {
                    (least, most) if least == most => format!("{least} argument(s)"),
                    (least, usize::MAX) => format!("at least {least} argument(s)"),
                    (least, most) => format!("{least} to {most} argument(s)"),
                };
                let message = format!("The {name} function requires {text}.");
                return Err(refused("SC2050", &message, None));
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
            let message = format!("The {name} function requires 1 argument(s).");
            return Err(refused("SC2050", &message, None));
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

    /// Returns where a name stands first.
    fn locate(&self, name: &str) -> Option<(usize, usize)> {
        locate(self.text, name).map(|at| (at.start, at.end))
    }

    fn unresolved(&self, name: &str) -> Refusal {
        refused("SC2001", &format!("Identifier '{name}' could not be resolved."), self.locate(name))
    }

    /// Returns the refusal of a name that no source has, and of the members below it.
    fn unknown(&self, name: &str, steps: &[Step]) -> Refusal {
        match &self.grouping {
            Some(Grouping { scope, clause: (clause, code), .. })
                if scope.iter().any(|alias| alias.name == Some(name)) =>
            {
                let names = steps.iter().map_while(|step| {
                    if let Step::Name(name) = step { Some(format!(".{name}")) } else { None }
                });
                let path: String = names.collect();
                let text = format!(
                    "Property reference '{name}{path}' is invalid in the {clause} because it is not contained in either an aggregate function or the GROUP BY clause."
                );
                refused(code, &text, self.locate(name))
            }
            _ => self.unresolved(name),
        }
    }
}

fn sorted(mut values: Vec<Json>) -> Vec<Json> {
    values.sort();
    values
}

/// Returns the refusal of what the service has, but this store has not.
pub(super) fn missing(what: &str) -> Refusal {
    Refusal::new(400, format!("{what} is not supported by this store."))
}
