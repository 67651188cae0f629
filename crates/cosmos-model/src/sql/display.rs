//! The text of a tree.

use std::fmt::{Display, Formatter, Result, Write, from_fn};

use serde_json::Value;

use super::{
    Binary, Count, Expr, Logical, Order, Quantifier, Query, Select, Source, Test, Unary, Values,
    parse::is_plain_name,
};

fn joined<T>(
    separator: &str,
    parts: &[T],
    write: impl Fn(&mut Formatter<'_>, &T) -> Result,
) -> impl Display {
    from_fn(move |f| {
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                f.write_str(separator)?;
            }
            write(f, part)?;
        }
        Ok(())
    })
}

fn list<T: Display>(parts: &[T]) -> impl Display {
    joined(", ", parts, |f, part| part.fmt(f))
}

/// Writes a text in single quotes.
fn quoted(f: &mut Formatter<'_>, text: &str) -> Result {
    f.write_char('\'')?;
    for c in text.chars() {
        match c {
            '\'' | '\\' => write!(f, "\\{c}")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('\'')
}

fn literal(f: &mut Formatter<'_>, value: &Value) -> Result {
    if let Value::String(text) = value { quoted(f, text) } else { value.fmt(f) }
}

/// Writes a step below a value: a name after a dot, or a value in brackets.
fn step(f: &mut Formatter<'_>, step: &Value) -> Result {
    match step {
        Value::String(name) if is_plain_name(name) => write!(f, ".{name}"),
        step => write!(f, "[{}]", from_fn(|f| literal(f, step))),
    }
}

impl Display for Count {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Literal(number) => number.fmt(f),
            Self::Parameter(name) => name.fmt(f),
        }
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(if self.distinct { "SELECT DISTINCT " } else { "SELECT " })?;
        if let Some(top) = &self.top {
            write!(f, "TOP {top} ")?;
        }
        let named = |f: &mut Formatter<'_>, (value, name): &(Expr, Option<String>)| match name {
            Some(name) => write!(f, "{value} AS {name}"),
            None => value.fmt(f),
        };
        match &self.select {
            Select::All => f.write_char('*')?,
            Select::Value(value) => write!(f, "VALUE {value}")?,
            Select::List(all) => joined(", ", all, named).fmt(f)?,
        }
        if !self.from.is_empty() {
            write!(f, " FROM {}", joined(" JOIN ", &self.from, |f, source| source.fmt(f)))?;
        }
        if let Some(filter) = &self.filter {
            write!(f, " WHERE {filter}")?;
        }
        if !self.group_by.is_empty() {
            write!(f, " GROUP BY {}", list(&self.group_by))?;
        }
        if !self.order_by.is_empty() {
            let rank = if self.by_rank { "RANK " } else { "" };
            write!(f, " ORDER BY {rank}{}", list(&self.order_by))?;
        }
        match &self.offset_limit {
            Some((offset, limit)) => write!(f, " OFFSET {offset} LIMIT {limit}"),
            None => Ok(()),
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(alias) = self.alias.as_ref().filter(|_| self.iterates) {
            write!(f, "{alias} IN ")?;
        }
        match &self.values {
            Values::Path(name, steps) => write!(f, "{name}{}", joined("", steps, step))?,
            Values::Query(query) => write!(f, "({query})")?,
        }
        match self.alias.as_ref().filter(|_| !self.iterates) {
            Some(alias) => write!(f, " AS {alias}"),
            None => Ok(()),
        }
    }
}

impl Display for Order {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let direction = match (self.has_direction, self.descending) {
            (false, _) => "",
            (true, false) => " ASC",
            (true, true) => " DESC",
        };
        write!(f, "{}{direction}", self.by)
    }
}

/// Every operator is in brackets, so none depends on how the others bind.
impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Undefined => f.write_str("undefined"),
            Self::Literal(value) => literal(f, value),
            Self::Parameter(name) | Self::Name(name) => f.write_str(name),
            Self::Member(of, index) => {
                // The dot after a number would be its own.
                match of.as_ref() {
                    Self::Literal(_) => write!(f, "({of})")?,
                    of => of.fmt(f)?,
                }
                match index.as_ref() {
                    Self::Literal(value) => step(f, value),
                    index => write!(f, "[{index}]"),
                }
            }
            Self::Array(all) => write!(f, "[{}]", list(all)),
            Self::Object(all) => {
                let property = |f: &mut Formatter<'_>, (name, value): &(String, Self)| {
                    quoted(f, name)?;
                    write!(f, ": {value}")
                };
                write!(f, "{{{}}}", joined(", ", all, property))
            }
            Self::Unary(operator, of) => write!(f, "({}{of})", operator.text()),
            Self::Binary(operator, a, b) => write!(f, "({a} {} {b})", operator.text()),
            Self::Logical(operator, all) => {
                let word = if *operator == Logical::And { " AND " } else { " OR " };
                write!(f, "({})", joined(word, all, |f, part| part.fmt(f)))
            }
            Self::Conditional(parts) => {
                let [condition, then, otherwise] = parts.as_ref();
                write!(f, "({condition} ? {then} : {otherwise})")
            }
            Self::Test(of, test, is_negated) => {
                write!(f, "({of} {}", if *is_negated { "NOT " } else { "" })?;
                match test.as_ref() {
                    Test::In(all) => write!(f, "IN ({})", list(all))?,
                    Test::Between(from, to) => write!(f, "BETWEEN {from} AND {to}")?,
                    Test::Like(pattern, None) => write!(f, "LIKE {pattern}")?,
                    Test::Like(pattern, Some(escape)) => {
                        write!(f, "LIKE {pattern} ESCAPE {}", from_fn(|f| quoted(f, escape)))?;
                    }
                }
                f.write_char(')')
            }
            Self::Call(name, arguments) => write!(f, "{name}({})", list(arguments)),
            Self::Query(quantifier, query) => write!(f, "{}({query})", quantifier.text()),
        }
    }
}

impl Quantifier {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Scalar => "",
            Self::Exists => "EXISTS",
            Self::Array => "ARRAY",
            Self::All => "ALL",
            Self::First => "FIRST",
            Self::Last => "LAST",
        }
    }
}

impl Unary {
    fn text(self) -> &'static str {
        match self {
            Self::Not => "NOT ",
            Self::Minus => "-",
            Self::Plus => "+",
            Self::BitNot => "~",
        }
    }
}

impl Binary {
    /// Returns the operator as it is written.
    pub fn text(self) -> &'static str {
        match self {
            Self::Coalesce => "??",
            Self::Concat => "||",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::BitAnd => "&",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::ShiftRightUnsigned => ">>>",
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
            Self::Modulo => "%",
        }
    }
}
