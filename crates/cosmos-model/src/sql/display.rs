//! The text of a tree.

use std::fmt::{Display, Formatter, Result, Write};

use serde_json::Value;

use super::{
    Binary, Count, Expr, Logical, Order, Quantifier, Query, Select, Source, Test, Unary, Values,
    parse::is_plain_name,
};

/// Writes parts with a separator.
fn join<T>(
    f: &mut Formatter<'_>,
    separator: &str,
    parts: &[T],
    write: impl Fn(&mut Formatter<'_>, &T) -> Result,
) -> Result {
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            f.write_str(separator)?;
        }
        write(f, part)?;
    }
    Ok(())
}

fn list<T: Display>(f: &mut Formatter<'_>, parts: &[T]) -> Result {
    join(f, ", ", parts, |f, part| part.fmt(f))
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
        step => {
            f.write_char('[')?;
            literal(f, step)?;
            f.write_char(']')
        }
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
        f.write_str("SELECT ")?;
        if self.distinct {
            f.write_str("DISTINCT ")?;
        }
        if let Some(top) = &self.top {
            write!(f, "TOP {top} ")?;
        }
        match &self.select {
            Select::All => f.write_char('*')?,
            Select::Value(value) => write!(f, "VALUE {value}")?,
            Select::List(list) => join(f, ", ", list, |f, (value, name)| match name {
                Some(name) => write!(f, "{value} AS {name}"),
                None => value.fmt(f),
            })?,
        }
        if !self.from.is_empty() {
            f.write_str(" FROM ")?;
            join(f, " JOIN ", &self.from, |f, source| source.fmt(f))?;
        }
        if let Some(filter) = &self.filter {
            write!(f, " WHERE {filter}")?;
        }
        if !self.group_by.is_empty() {
            f.write_str(" GROUP BY ")?;
            list(f, &self.group_by)?;
        }
        if !self.order_by.is_empty() {
            f.write_str(if self.by_rank { " ORDER BY RANK " } else { " ORDER BY " })?;
            list(f, &self.order_by)?;
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
            Values::Path(name, steps) => {
                f.write_str(name)?;
                join(f, "", steps, step)?;
            }
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
            Self::Array(all) => {
                f.write_char('[')?;
                list(f, all)?;
                f.write_char(']')
            }
            Self::Object(all) => {
                f.write_char('{')?;
                join(f, ", ", all, |f, (name, value)| {
                    quoted(f, name)?;
                    write!(f, ": {value}")
                })?;
                f.write_char('}')
            }
            Self::Unary(operator, of) => write!(f, "({}{of})", operator.text()),
            Self::Binary(operator, left, right) => {
                write!(f, "({left} {} {right})", operator.text())
            }
            Self::Logical(operator, all) => {
                let word = if *operator == Logical::And { " AND " } else { " OR " };
                f.write_char('(')?;
                join(f, word, all, |f, part| part.fmt(f))?;
                f.write_char(')')
            }
            Self::Conditional(parts) => {
                let [condition, then, otherwise] = parts.as_ref();
                write!(f, "({condition} ? {then} : {otherwise})")
            }
            Self::Test(of, test, is_negated) => {
                write!(f, "({of} {}", if *is_negated { "NOT " } else { "" })?;
                match test.as_ref() {
                    Test::In(all) => {
                        f.write_str("IN (")?;
                        list(f, all)?;
                        f.write_char(')')?;
                    }
                    Test::Between(from, to) => write!(f, "BETWEEN {from} AND {to}")?,
                    Test::Like(pattern, escape) => {
                        write!(f, "LIKE {pattern}")?;
                        if let Some(escape) = escape {
                            f.write_str(" ESCAPE ")?;
                            quoted(f, escape)?;
                        }
                    }
                }
                f.write_char(')')
            }
            Self::Call(name, arguments) => {
                write!(f, "{name}(")?;
                list(f, arguments)?;
                f.write_char(')')
            }
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
