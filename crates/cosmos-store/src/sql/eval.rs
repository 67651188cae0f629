//! Compiled expressions.

use std::{
    borrow::Cow,
    cell::{Cell, RefCell},
};

use cosmos_model::sql::{Binary, Logical, Quantifier, Unary};

use crate::{Refusal, Result, json::Json};

use super::{
    MAX_BYTES, MAX_STEPS,
    functions::{Args, Function},
    operators::{Part, binary, int32, is_like, like_parts, number_of},
    plan::Plan,
};

/// A value; `None` is undefined.
pub(super) type Value<'f> = Option<Cow<'f, Json>>;

/// An expression. Chains of operators and of members are lists, so that the depth of an evaluation is that of the
/// brackets in the text.
pub(super) enum Node {
    Undefined,
    Constant(Json),
    /// The value of a source: of the frame that lies so many frames further out.
    Slot(usize),
    /// A value of GROUP BY or of an aggregate.
    Computed(usize),
    Path(Box<Node>, Vec<Step>),
    Array(Vec<Node>),
    Object(Vec<(Box<str>, Node)>),
    /// Operators, the innermost first.
    Unary(Vec<Unary>, Box<Node>),
    /// What is done with a first value, from left to right.
    Chain(Box<Node>, Vec<Link>),
    Logical(Logical, Vec<Node>),
    Conditional(Box<[Node; 3]>),
    Call(&'static Function, Vec<Node>),
    Query(Quantifier, Box<Plan>),
}

pub(super) enum Step {
    Name(Box<str>),
    Of(Node),
}

/// An operator and what stands on its right.
pub(super) enum Link {
    Binary(Binary, Node),
    In(Vec<Node>, bool),
    /// Constants, sorted.
    InConstants(Vec<Json>, bool),
    Between(Box<[Node; 2]>, bool),
    Like(Node, Option<char>, bool),
    LikeConstant(Vec<Part>, bool),
}

/// What an evaluation has cost.
pub(super) struct Run {
    steps: Cell<usize>,
    bytes: Cell<usize>,
    refusal: RefCell<Option<String>>,
    /// When the query began, in ticks of 100 nanoseconds since 1970.
    pub(super) began: i64,
}

impl Run {
    pub(super) fn new(began: i64) -> Self {
        Self { steps: Cell::new(0), bytes: Cell::new(0), refusal: RefCell::new(None), began }
    }

    /// Counts steps; `None` if they were too many. Everything is undefined from then on, so the evaluation ends soon.
    pub(super) fn spend(&self, steps: usize) -> Option<()> {
        self.steps.set(self.steps.get().saturating_add(steps));
        (self.steps.get() <= MAX_STEPS).then_some(())
    }

    /// Begins anew, unless too much was spent.
    pub(super) fn restart(&self) -> Option<()> {
        self.spend(0)?;
        self.steps.set(0);
        self.bytes.set(0);
        Some(())
    }

    pub(super) fn hold(&self, bytes: usize) -> Option<()> {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
        if self.bytes.get() > MAX_BYTES {
            self.steps.set(usize::MAX);
        }
        self.spend(0)
    }

    /// Ends the evaluation with a refusal.
    pub(super) fn refuse<T>(&self, message: String) -> Option<T> {
        self.steps.set(usize::MAX);
        self.refusal.replace(Some(message));
        None
    }

    /// Returns a result unless the evaluation was refused or has cost too much.
    pub(super) fn within_limits<T>(&self, result: T) -> Result<T> {
        let text =
            "The query exceeded the limit of this store for one item: 4,000,000 steps, 64 MB.";
        self.spend(0).map(|()| result).ok_or_else(|| {
            Refusal::new(400, self.refusal.take().unwrap_or_else(|| text.to_owned()))
        })
    }
}

/// The value of a source, and the frames further out.
#[derive(Clone, Copy)]
pub(super) struct Frame<'f> {
    value: &'f Json,
    pub(super) outer: Option<&'f Frame<'f>>,
    /// The values of GROUP BY and of the aggregates.
    computed: &'f [Option<Json>],
    pub(super) run: &'f Run,
}

impl<'f> Frame<'f> {
    pub(super) fn of(value: &'f Json, run: &'f Run) -> Self {
        Self { value, outer: None, computed: &[], run }
    }

    pub(super) fn within(&'f self, value: &'f Json) -> Self {
        Self { value, outer: Some(self), ..*self }
    }

    pub(super) fn with_computed(&'f self, computed: &'f [Option<Json>]) -> Self {
        Self { computed, ..*self }
    }

    pub(super) fn own(&self, value: Cow<'_, Json>) -> Option<Json> {
        if let Cow::Borrowed(value) = &value {
            self.run.hold(value.size())?;
        }
        Some(value.into_owned())
    }
}

#[allow(clippy::unnecessary_wraps, reason = "a value of an expression")]
fn boolean<'f>(value: bool) -> Value<'f> {
    Some(Cow::Owned(Json::Bool(value)))
}

fn truth(value: &Value<'_>) -> Option<bool> {
    if let Json::Bool(value) = **value.as_ref()? { Some(value) } else { None }
}

impl Node {
    pub(super) fn eval<'f>(&'f self, at: &'f Frame<'f>) -> Value<'f> {
        at.run.spend(1)?;
        match self {
            Self::Undefined => None,
            Self::Constant(value) => Some(Cow::Borrowed(value)),
            Self::Slot(distance) => {
                let mut frame = at;
                for _ in 0..*distance {
                    frame = frame.outer?;
                }
                Some(Cow::Borrowed(frame.value))
            }
            Self::Computed(n) => at.computed.get(*n)?.as_ref().map(Cow::Borrowed),
            Self::Path(of, steps) => {
                let mut value = of.eval(at)?;
                for step in steps {
                    value = match value {
                        Cow::Borrowed(of) => Cow::Borrowed(step.member(of, at)?),
                        Cow::Owned(of) => Cow::Owned(at.own(Cow::Borrowed(step.member(&of, at)?))?),
                    };
                }
                Some(value)
            }
            Self::Array(all) => {
                let mut values = Vec::with_capacity(all.len());
                for node in all {
                    if let Some(value) = node.eval(at) {
                        values.push(at.own(value)?);
                    }
                }
                Some(Cow::Owned(Json::Array(values)))
            }
            Self::Object(all) => {
                let mut properties = Vec::with_capacity(all.len());
                for (name, node) in all {
                    if let Some(value) = node.eval(at) {
                        at.run.hold(name.len())?;
                        properties.push((name.clone(), at.own(value)?));
                    }
                }
                Some(Cow::Owned(Json::Object(properties)))
            }
            Self::Unary(operators, of) => {
                let mut value = of.eval(at)?;
                for operator in operators {
                    value = Cow::Owned(unary(*operator, &value)?);
                }
                Some(value)
            }
            Self::Chain(first, links) => {
                let mut value = first.eval(at);
                for link in links {
                    value = link.apply(value, at);
                }
                value
            }
            Self::Logical(operator, all) => {
                // What one operand decides, whatever the others are.
                let decisive = *operator == Logical::Or;
                let mut result = Some(!decisive);
                for node in all {
                    match truth(&node.eval(at)) {
                        Some(value) if value == decisive => return boolean(decisive),
                        Some(_) => (),
                        None => result = None,
                    }
                }
                boolean(result?)
            }
            Self::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                let is_true = truth(&condition.eval(at)) == Some(true);
                if is_true { then.eval(at) } else { otherwise.eval(at) }
            }
            Self::Call(function, arguments) => call(function, arguments, at),
            Self::Query(quantifier, plan) => subquery(*quantifier, plan, at),
        }
    }
}

/// Returns the steps of reading a value, beyond that of evaluating it.
fn weight(value: &Json) -> usize {
    match value {
        Json::Text(text) => text.len() / 16,
        Json::Array(_) | Json::Object(_) => value.size() / 64,
        _ => 0,
    }
}

fn unary(operator: Unary, value: &Json) -> Option<Json> {
    match (operator, value) {
        (Unary::Not, Json::Bool(value)) => Some(Json::Bool(!value)),
        (Unary::Minus, Json::Number(number)) => number_of(-number),
        (Unary::Plus, Json::Number(number)) => number_of(*number),
        (Unary::BitNot, Json::Number(number)) => number_of((!int32(*number)).into()),
        _ => None,
    }
}

fn call<'f>(function: &'static Function, arguments: &'f [Node], at: &'f Frame<'f>) -> Value<'f> {
    let values: Vec<Value<'f>> = arguments.iter().map(|node| node.eval(at)).collect();
    let cost = values.iter().flatten().map(|value| weight(value));
    at.run.spend(cost.sum())?;
    let value = (function.body)(&Args { values: &values, run: at.run })?;
    if matches!(value, Json::Number(number) if !number.is_finite()) {
        return None;
    }
    at.run.hold(value.size())?;
    Some(Cow::Owned(value))
}

fn subquery<'f>(quantifier: Quantifier, plan: &'f Plan, at: &'f Frame<'f>) -> Value<'f> {
    let most = match quantifier {
        Quantifier::Exists | Quantifier::First => 1,
        Quantifier::Scalar => 2,
        _ => usize::MAX,
    };
    let mut results = plan.results(at, most)?;
    let value = match quantifier {
        Quantifier::Exists => Json::Bool(!results.is_empty()),
        Quantifier::Array => Json::Array(results),
        Quantifier::All => Json::Bool(results.iter().all(|value| *value == Json::Bool(true))),
        // A scalar subquery of several results has no value.
        Quantifier::Scalar if results.len() > 1 => return None,
        Quantifier::Scalar | Quantifier::First | Quantifier::Last => results.pop()?,
    };
    Some(Cow::Owned(value))
}

impl Step {
    fn member<'j>(&self, of: &'j Json, at: &Frame<'_>) -> Option<&'j Json> {
        match self {
            Self::Name(name) => of.get(name),
            Self::Of(node) => match &*node.eval(at)? {
                Json::Text(name) => of.get(name),
                Json::Number(index) => of.as_array()?.get(super::functions::index(*index)?),
                _ => None,
            },
        }
    }
}

impl Link {
    fn apply<'f>(&'f self, left: Value<'f>, at: &'f Frame<'f>) -> Value<'f> {
        match self {
            Self::Binary(Binary::Coalesce, right) => left.or_else(|| right.eval(at)),
            Self::Binary(operator, right) => {
                let (left, right) = (left?, right.eval(at)?);
                at.run.spend(weight(&left))?;
                binary(*operator, &left, &right, at.run).map(Cow::Owned)
            }
            Self::In(all, is_negated) => {
                let left = left?;
                let mut found = Some(false);
                for node in all {
                    at.run.spend(weight(&left))?;
                    match node.eval(at) {
                        Some(value) if left == value => {
                            found = Some(true);
                            break;
                        }
                        Some(_) => (),
                        None => found = None,
                    }
                }
                boolean(found? != *is_negated)
            }
            Self::InConstants(all, is_negated) => {
                let left = left?;
                at.run.spend(weight(&left))?;
                let found = all.binary_search(&left).is_ok();
                boolean(found != *is_negated)
            }
            Self::Between(ends, is_negated) => {
                let [from, to] = &**ends;
                let left = left?;
                let is_ordered =
                    |one: &Json, other: &Json| one.compares_with(other).then(|| one <= other);
                let lower = from.eval(at).and_then(|from| is_ordered(&from, &left));
                let upper = to.eval(at).and_then(|to| is_ordered(&left, &to));
                let within = match (lower, upper) {
                    (Some(false), _) | (_, Some(false)) => false,
                    (lower, upper) => lower? && upper?,
                };
                boolean(within != *is_negated)
            }
            Self::Like(pattern, escape, is_negated) => {
                let (left, pattern) = (left?, pattern.eval(at)?);
                let pattern = pattern.as_str()?;
                at.run.spend(pattern.len())?;
                let is_like = is_like(left.as_str()?, &like_parts(pattern, *escape), at.run)?;
                boolean(is_like != *is_negated)
            }
            Self::LikeConstant(parts, is_negated) => {
                boolean(is_like(left?.as_str()?, parts, at.run)? != *is_negated)
            }
        }
    }
}
