//! The SQL of Azure Cosmos DB as a tree.
//!
//! [`Query`] is parsed from a text (`str::parse`), and its `Display` is a text of the same meaning. The grammar is that
//! of the documentation (<https://learn.microsoft.com/cosmos-db/query/>); where it is silent, that of the parser in
//! Microsoft's .NET SDK (`sql.g4`), such as the order in which operators bind.
//!
//! A text has at most 256 KB, 64 levels of brackets, and 500 operators besides AND and OR in a row (250 within one pair
//! of brackets, and so on): so no text makes a program that reads the tree overflow its stack.

mod display;
mod parse;

pub use parse::locate;

use serde_json::Value;
use thiserror::Error;

use crate::partitioning::path::PropertyPath;

/// A query.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// DISTINCT.
    pub distinct: bool,
    /// TOP.
    pub top: Option<Count>,
    /// What it returns.
    pub select: Select,
    /// FROM, and each JOIN.
    pub from: Vec<Source>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// GROUP BY.
    pub group_by: Vec<Expr>,
    /// ORDER BY.
    pub order_by: Vec<Order>,
    /// ORDER BY RANK: the order is that of a score.
    pub by_rank: bool,
    /// OFFSET and LIMIT.
    pub offset_limit: Option<(Count, Count)>,
}

/// A number of items: a literal, or a parameter with its `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// A number.
    Literal(u32),
    /// A parameter.
    Parameter(String),
}

/// What a query returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Select {
    /// `*`
    All,
    /// `VALUE` of an expression.
    Value(Expr),
    /// An object of expressions and their names.
    List(Vec<(Expr, Option<String>)>),
}

/// A source of FROM or JOIN.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// Where its values come from.
    pub values: Values,
    /// The name of a value.
    pub alias: Option<String>,
    /// `alias IN values`: the elements of an array.
    pub iterates: bool,
}

/// The values of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// A name, of the container or of a source before, and the steps below it: texts and numbers.
    Path(String, Vec<Value>),
    /// The results of a query.
    Query(Box<Query>),
}

/// An item of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// By what.
    pub by: Expr,
    /// DESC.
    pub descending: bool,
    /// ASC or DESC is in the text.
    pub has_direction: bool,
}

/// A scalar expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// `undefined`
    Undefined,
    /// A number, a text, true, false or null.
    Literal(Value),
    /// A parameter, with its `@`.
    Parameter(String),
    /// The name of a source.
    Name(String),
    /// `of.name` or `of[index]`.
    Member(Box<Expr>, Box<Expr>),
    /// `[…]`
    Array(Vec<Expr>),
    /// `{…}`
    Object(Vec<(String, Expr)>),
    /// An operator before its operand.
    Unary(Unary, Box<Expr>),
    /// An operator between its operands.
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// AND or OR of at least two.
    Logical(Logical, Vec<Expr>),
    /// `condition ? then : otherwise`
    Conditional(Box<[Expr; 3]>),
    /// IN, BETWEEN or LIKE; NOT of it.
    Test(Box<Expr>, Box<Test>, bool),
    /// A call of a function, in capital letters; of one of the user's own, with `udf.`
    Call(String, Vec<Expr>),
    /// A query within: alone, or as EXISTS, ARRAY, ALL, FIRST or LAST.
    Query(Quantifier, Box<Query>),
}

/// What is made of a query within an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of SQL")]
pub enum Quantifier {
    Scalar,
    Exists,
    Array,
    All,
    First,
    Last,
}

/// An operator before its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of SQL")]
pub enum Unary {
    Not,
    Minus,
    Plus,
    BitNot,
}

/// An operator of several operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of SQL")]
pub enum Logical {
    And,
    Or,
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of SQL")]
pub enum Binary {
    Coalesce,
    Concat,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

/// A test of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Test {
    /// It is one of these.
    In(Vec<Expr>),
    /// It is in this range, both ends included.
    Between(Expr, Expr),
    /// It has this pattern; with this escape character.
    Like(Expr, Option<String>),
}

/// The error of a text that is no query: where it is wrong, in bytes, and how.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("Syntax error, incorrect syntax near '{near}'.")]
pub struct SyntaxError {
    /// The begin of the part that is wrong.
    pub at: usize,
    /// That part.
    pub near: String,
}

impl Binary {
    /// Returns true for a comparison.
    pub fn compares(self) -> bool {
        use Binary::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        matches!(self, Equal | NotEqual | Less | LessOrEqual | Greater | GreaterOrEqual)
    }
}

impl Select {
    /// Returns the expressions of which a result is made; none of `*`.
    pub fn values(&self) -> Vec<&Expr> {
        match self {
            Self::All => Vec::new(),
            Self::Value(value) => vec![value],
            Self::List(list) => list.iter().map(|(value, _)| value).collect(),
        }
    }
}

impl Query {
    /// Returns the name of an item: the alias of the first source, or the name of the container.
    pub fn root(&self) -> Option<&str> {
        let Source { values, alias, iterates: false } = self.from.first()? else { return None };
        match (values, alias) {
            (Values::Path(_, steps), Some(alias)) if steps.is_empty() => Some(alias),
            (Values::Path(name, steps), None) if steps.is_empty() => Some(name),
            _ => None,
        }
    }
}

impl Expr {
    /// Returns the name at which a chain of properties begins, and their path: `c` and `/address/city`; `None` for
    /// another expression, and for elements of arrays.
    pub fn property(&self) -> Option<(&str, PropertyPath)> {
        let mut names = Vec::new();
        let mut at = self;
        while let Self::Member(of, name) = at {
            let Self::Literal(Value::String(name)) = name.as_ref() else { return None };
            names.push(name.clone());
            at = of;
        }
        let Self::Name(alias) = at else { return None };
        names.reverse();
        Some((alias, PropertyPath::from_names(names)?))
    }

    /// Calls `visit` with this expression and all within it, but not with those of a query within it.
    pub fn visit<'a>(&'a self, visit: &mut impl FnMut(&'a Self)) {
        visit(self);
        for part in self.parts() {
            part.visit(visit);
        }
    }

    /// Returns the expressions of which this one is made, but not those of a query.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Undefined
            | Self::Literal(_)
            | Self::Parameter(_)
            | Self::Name(_)
            | Self::Query(..) => Vec::new(),
            Self::Member(one, other) | Self::Binary(_, one, other) => vec![one, other],
            Self::Unary(_, one) => vec![one],
            Self::Array(all) | Self::Logical(_, all) | Self::Call(_, all) => all.iter().collect(),
            Self::Object(all) => all.iter().map(|(_, value)| value).collect(),
            Self::Conditional(parts) => parts.iter().collect(),
            Self::Test(of, test, _) => {
                let of = std::iter::once(of.as_ref());
                match test.as_ref() {
                    Test::In(all) => of.chain(all).collect(),
                    Test::Between(from, to) => of.chain([from, to]).collect(),
                    Test::Like(pattern, _) => of.chain([pattern]).collect(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same(text: &str) -> String {
        let tree: Query = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        let written = tree.to_string();
        assert_eq!(written.parse(), Ok(tree), "{text}: {written}");
        written
    }

    fn expr(text: &str) -> String {
        same(&format!("SELECT VALUE {text}")).split_off("SELECT VALUE ".len())
    }

    #[test]
    fn a_query_comes_back_from_its_text() {
        for text in [
            "SELECT * FROM c",
            "select distinct top @n value c.a from c -- and so on\n where c.b = 1 /* no */",
            "SELECT TOP 3 c.a, c['full name'] AS name, [1, {\"b\": c.b}] FROM root AS c",
            "SELECT VALUE t FROM c JOIN t IN c.tags JOIN (SELECT VALUE u FROM u IN t.x) AS v WHERE EXISTS(SELECT 1)",
            "SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a, c.b OFFSET @o LIMIT 10",
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.text, 'x')",
            "SELECT * FROM c ORDER BY c.a DESC, c.rank",
            "SELECT * FROM c.children[0].pets p WHERE ARRAY(SELECT VALUE 1)[0] = FIRST(SELECT 1)",
            "SELECT udf.tax(c.a), LEFT('abc', 1), -c.a, - -1, (1).a, NOT NOT true, undefined ?? null",
        ] {
            same(text);
        }
    }

    #[test]
    fn operators_bind_as_in_the_service() {
        for (text, tree) in [
            ("1 + 2 * 3 - -4", "((1 + (2 * 3)) - -4)"),
            ("c.a = 1 OR c.b = 2 AND NOT c.d", "((c.a = 1) OR ((c.b = 2) AND (NOT c.d)))"),
            ("a AND b AND c", "(a AND b AND c)"),
            ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
            ("a ?? b ?? 1 < 2", "((a ?? b) ?? (1 < 2))"),
            ("a BETWEEN 1 AND 2 + 3 AND b", "((a BETWEEN 1 AND (2 + 3)) AND b)"),
            (
                "a NOT IN (1, 2) OR b LIKE 'x!%' ESCAPE '!'",
                "((a NOT IN (1, 2)) OR (b LIKE 'x!%' ESCAPE '!'))",
            ),
            ("a || 'b' = 'ab'", "(a || ('b' = 'ab'))"),
            ("c[\"a b\"][0][@p].d", "c['a b'][0][@p].d"),
            ("is_defined(c.a)", "IS_DEFINED(c.a)"),
        ] {
            assert_eq!(expr(text), tree, "{text}");
        }
    }

    #[test]
    fn literals_are_values() {
        for (text, value) in [
            (r#""a'\"\u00e9\n""#, serde_json::json!("a'\"é\n")),
            (r"'\ud83d\ude00'", serde_json::json!("😀")),
            ("0x1F", serde_json::json!(31)),
            ("1.50", serde_json::json!(1.5)),
            ("-.5e1", serde_json::json!(-5.0)),
            ("TRUE", serde_json::json!(true)),
        ] {
            let tree: Query = format!("SELECT VALUE {text}").parse().unwrap();
            assert_eq!(tree.select, Select::Value(Expr::Literal(value)), "{text}");
        }
    }

    #[test]
    fn an_error_names_the_part_that_is_wrong() {
        for (text, near, at) in [
            ("SELECT * FORM c", "FORM", 9),
            ("SELECT * FROM c WHERE c.value = 1", "value", 24),
            ("SELECT * FROM c WHERE", "", 21),
            ("SELECT * FROM c WHERE c.a = 'x", "'x", 28),
            ("SELECT * FROM c WHERE (c.a = 1", "", 30),
            ("SELECT * FROM c WHERE c.a IN ()", ")", 30),
            ("SELECT * FROM c WHERE c.a = 1 c", "c", 30),
            ("SELECT TOP -1 * FROM c", "-", 11),
            ("SELECT 1a", "1a", 7),
            ("", "", 0),
        ] {
            let error = text.parse::<Query>().unwrap_err();
            assert_eq!((error.near.as_str(), error.at), (near, at), "{text}");
        }
    }

    #[test]
    fn a_name_is_located_outside_of_texts_and_members() {
        let query = "SELECT 'x', c.x -- x\nFROM c WHERE Abs(x) = @x";
        assert_eq!(locate(query, "x"), Some(38..39));
        assert_eq!(locate(query, "ABS"), Some(34..37));
        assert_eq!(locate(query, "@x"), Some(43..45));
        assert_eq!(locate(query, "y"), None);
    }

    #[test]
    fn a_text_that_is_too_deep_or_too_long_is_refused() {
        for part in "(|[|{a: |-|NOT |1 ? |1 + |ABS(|(SELECT |c.|a IN (1) IN (1) IN (".split('|') {
            let text = format!("SELECT {}1", part.repeat(10_000));
            assert!(text.parse::<Query>().is_err(), "{part}");
        }
        let mut chains = String::from("1");
        for _ in 0..25 {
            chains = format!("ABS({chains}{})", " + 1".repeat(499));
        }
        assert!(format!("SELECT VALUE {chains}").parse::<Query>().is_err());
        assert!("x".repeat(256 * 1024 + 1).parse::<Query>().is_err());
        let wide = format!("SELECT * FROM c WHERE {}1", "c.a = 1 OR ".repeat(5_000));
        assert!(wide.parse::<Query>().is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_a_query_or_none(
            text: String,
            words in prop::collection::vec(prop::sample::select(vec![
                "SELECT", "VALUE", "*", "FROM", "c", "WHERE", "JOIN", "IN", "AS", "c.a", "c[\"a\"]", "=", "(", ")", ",",
                "AND", "OR", "NOT", "BETWEEN", "?", ":", "??", "1", "'x'", "@p", "ORDER BY", "GROUP BY", "[", "]", "{a:",
                "}", "-", "EXISTS(", "OFFSET 1 LIMIT 2", "é", "\"", "\\", "/*", "--",
            ]), 0..30),
        ) {
            for text in [text, words.concat(), format!("SELECT * FROM c WHERE {}", words.join(" "))] {
                if let Ok(tree) = text.parse::<Query>() {
                    prop_assert_eq!(tree.to_string().parse(), Ok(tree));
                }
            }
        }
    }
}
