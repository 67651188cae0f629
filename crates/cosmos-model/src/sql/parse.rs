//! The parser: words and symbols first, then clauses and expressions.

use std::{fmt::Write as _, str::FromStr};

use serde_json::{Number, Value};
use winnow::{
    Parser, Result,
    combinator::{
        Infix, Postfix, alt, delimited, eof, expression, fail, opt, peek, preceded, repeat,
        separated, separated_pair, terminated,
    },
    error::EmptyError,
    stream::{Stateful, Stream, TokenSlice},
    token::{any, take_till, take_until, take_while},
};

use super::{
    Binary, Count, Expr, Logical, Order, Quantifier, Query, Select, Source, SyntaxError, Test,
    Unary, Values,
};

const MAX_TEXT_BYTES: usize = 256 * 1024;

const MAX_LEVELS: usize = 64;

const MAX_OPERATORS: usize = 500;

/// The words that are no names, besides `undefined`.
const KEYWORDS: [&str; 27] = [
    "AND", "ARRAY", "AS", "ASC", "BETWEEN", "BY", "DESC", "DISTINCT", "ESCAPE", "EXISTS", "FALSE",
    "FROM", "GROUP", "IN", "JOIN", "LIKE", "LIMIT", "NOT", "NULL", "OFFSET", "OR", "ORDER",
    "SELECT", "TOP", "TRUE", "VALUE", "WHERE",
];

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Word,
    Parameter,
    Symbol,
    Literal(Value),
}

#[derive(Clone, Debug)]
struct Token<'s> {
    kind: Kind,
    text: &'s str,
}

#[derive(Debug, Default)]
struct Progress {
    /// The fewest tokens that were left when one was refused.
    fewest_left: usize,
    levels: usize,
}

type Input<'t> = Stateful<TokenSlice<'t, Token<'t>>, Progress>;

type Parsed<T> = Result<T, EmptyError>;

impl FromStr for Query {
    type Err = SyntaxError;

    fn from_str(text: &str) -> std::result::Result<Self, SyntaxError> {
        let error = |at: usize, near: &str| {
            // A message shows the begin of a long text.
            SyntaxError { at, near: near.chars().take(100).collect() }
        };
        if text.len() > MAX_TEXT_BYTES {
            return Err(error(MAX_TEXT_BYTES, "the end of 256 KB"));
        }
        let mut rest = text;
        let tokens = tokens(&mut rest);
        if !rest.is_empty() {
            let near = rest.split_whitespace().next().unwrap_or(rest);
            return Err(error(text.len() - rest.len(), near));
        }
        let state = Progress { fewest_left: tokens.len(), ..Progress::default() };
        let mut input = Stateful { input: TokenSlice::new(&tokens), state };
        terminated(query, end).parse_next(&mut input).map_err(|_| {
            let wrong = tokens.len().checked_sub(input.state.fewest_left);
            let near = wrong.and_then(|at| tokens.get(at)).map_or("", |token| token.text);
            let at = if near.is_empty() { text.len() } else { offset(text, near) };
            error(at, near)
        })
    }
}

/// Reads tokens up to the end, or to what is none.
fn tokens<'s>(text: &mut &'s str) -> Vec<Token<'s>> {
    let tokens: Parsed<_> = preceded(blank, repeat(0.., terminated(token, blank))).parse_next(text);
    tokens.unwrap_or_default()
}

/// Returns where a name stands first in a query, as a source, a parameter or a function (in any case), in bytes: for
/// the location in an error.
pub fn locate(query: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let tokens = tokens(&mut { query });
    let named = |token: &Token<'_>| {
        matches!(token.kind, Kind::Word | Kind::Parameter) && token.text.eq_ignore_ascii_case(name)
    };
    let behind = std::iter::once(None).chain(tokens.iter().map(|token| Some(token.text)));
    let mut found =
        tokens.iter().zip(behind).filter(|(token, before)| named(token) && *before != Some("."));
    let (token, _) = found.next()?;
    let begin = offset(query, token.text);
    Some(begin..begin + token.text.len())
}

fn offset(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// Returns true for a name that needs no quotes after a dot.
pub(super) fn is_plain_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && characters.all(is_of_name)
        && !is_keyword(name)
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().chain(&["UNDEFINED"]).any(|keyword| keyword.eq_ignore_ascii_case(word))
}

// The words and symbols.

/// White space and comments.
fn blank(text: &mut &str) -> Parsed<()> {
    let space = take_while(1.., char::is_whitespace).void();
    let line = ("--", take_till(0.., '\n')).void();
    let comment = ("/*", take_until(0.., "*/"), "*/").void();
    repeat(0.., alt((space, line, comment))).parse_next(text)
}

fn token<'s>(text: &mut &'s str) -> Parsed<Token<'s>> {
    let begin = *text;
    let kind = alt((
        number.map(|number| Kind::Literal(Value::Number(number))),
        take_while(1.., is_of_name).value(Kind::Word),
        ('@', take_while(1.., is_of_name)).value(Kind::Parameter),
        quoted.map(|text| Kind::Literal(Value::String(text))),
        alt((">>>", "??", "||", "!=", "<>", "<=", ">=", "<<", ">>")).value(Kind::Symbol),
        any.verify(|&c: &char| c.is_ascii_punctuation() && !matches!(c, '\'' | '"'))
            .value(Kind::Symbol),
    ))
    .parse_next(text)?;
    Ok(Token { kind, text: &begin[..begin.len() - text.len()] })
}

fn number(text: &mut &str) -> Parsed<Number> {
    let digits = |text: &mut &str| take_while(1.., '0'..='9').void().parse_next(text);
    let exponent = || opt((alt(('e', 'E')), opt(alt(('+', '-'))), digits));
    let whole = (digits, opt(('.', take_while(0.., '0'..='9'))), exponent()).void();
    let fraction = ('.', digits, exponent()).void();
    let hexadecimal = preceded(alt(("0x", "0X")), take_while(1.., |c: char| c.is_ascii_hexdigit()))
        .verify_map(|digits| Some(u64::from_str_radix(digits, 16).ok()?.into()));
    let decimal =
        alt((whole, fraction)).take().verify_map(|text: &str| match text.parse::<i64>() {
            Ok(number) => Some(number.into()),
            Err(_) => Number::from_f64(text.parse().ok()?),
        });
    // A name does not begin with a digit.
    let ends = |text: &mut &str| {
        if text.starts_with(is_of_name) { fail.parse_next(text) } else { Ok(()) }
    };
    terminated(alt((hexadecimal, decimal)), ends).parse_next(text)
}

fn quoted(text: &mut &str) -> Parsed<String> {
    let quote = alt(('\'', '"')).parse_next(text)?;
    // The escapes are those of JSON, and one for the single quote.
    let mut json = String::from('"');
    loop {
        match any.parse_next(text)? {
            end if end == quote => break,
            '\\' => match any.parse_next(text)? {
                '\'' => json.push('\''),
                escaped => json.extend(['\\', escaped]),
            },
            '"' => json.push_str("\\\""),
            c if c < ' ' => write!(json, "\\u{:04x}", u32::from(c)).map_err(|_| EmptyError)?,
            c => json.push(c),
        }
    }
    json.push('"');
    serde_json::from_str(&json).map_err(|_| EmptyError)
}

// The parser's own steps.

fn next<'t>(
    accept: impl Fn(&Token<'t>) -> bool,
) -> impl FnMut(&mut Input<'t>) -> Parsed<&'t Token<'t>> {
    move |input| {
        let left = input.eof_offset();
        let before = input.checkpoint();
        if let Some(token) = input.next_token().filter(|token| accept(token)) {
            return Ok(token);
        }
        input.reset(&before);
        input.state.fewest_left = input.state.fewest_left.min(left);
        Err(EmptyError)
    }
}

fn symbol<'t>(text: &'static str) -> impl FnMut(&mut Input<'t>) -> Parsed<&'t Token<'t>> {
    next(move |token| token.kind == Kind::Symbol && token.text == text)
}

fn word<'t>(text: &'static str) -> impl FnMut(&mut Input<'t>) -> Parsed<&'t Token<'t>> {
    next(move |token| token.kind == Kind::Word && token.text.eq_ignore_ascii_case(text))
}

fn name(input: &mut Input<'_>) -> Parsed<String> {
    let named = next(|token| token.kind == Kind::Word && is_plain_name(token.text));
    named.map(|token: &Token<'_>| token.text.to_owned()).parse_next(input)
}

fn parameter(input: &mut Input<'_>) -> Parsed<String> {
    let parameter = next(|token| token.kind == Kind::Parameter);
    parameter.map(|token: &Token<'_>| token.text.to_owned()).parse_next(input)
}

fn literal(input: &mut Input<'_>) -> Parsed<Value> {
    let literal = next(|token| matches!(token.kind, Kind::Literal(_)));
    let value = |token: &Token<'_>| {
        if let Kind::Literal(value) = &token.kind { Some(value.clone()) } else { None }
    };
    literal.verify_map(value).parse_next(input)
}

fn text(input: &mut Input<'_>) -> Parsed<String> {
    let text = |value| if let Value::String(text) = value { Some(text) } else { None };
    literal.verify_map(text).parse_next(input)
}

fn end(input: &mut Input<'_>) -> Parsed<()> {
    input.state.fewest_left = input.state.fewest_left.min(input.eof_offset());
    eof.void().parse_next(input)
}

/// Parses what stands one level deeper.
fn deeper<'t, T>(
    mut parse: impl Parser<Input<'t>, T, EmptyError>,
) -> impl FnMut(&mut Input<'t>) -> Parsed<T> {
    move |input| {
        if input.state.levels >= MAX_LEVELS {
            return Err(EmptyError);
        }
        input.state.levels += 1;
        let parsed = parse.parse_next(input);
        input.state.levels -= 1;
        parsed
    }
}

fn in_brackets<'t, T>(
    parse: impl Parser<Input<'t>, T, EmptyError>,
) -> impl Parser<Input<'t>, T, EmptyError> {
    delimited(symbol("("), deeper(parse), symbol(")"))
}

fn list<'t, T>(
    parse: impl Parser<Input<'t>, T, EmptyError>,
    least: usize,
) -> impl Parser<Input<'t>, Vec<T>, EmptyError> {
    separated(least.., parse, symbol(","))
}

fn is_there<'t, T>(
    parse: impl Parser<Input<'t>, T, EmptyError>,
) -> impl Parser<Input<'t>, bool, EmptyError> {
    opt(parse).map(|found| found.is_some())
}

// The clauses.

fn query(input: &mut Input<'_>) -> Parsed<Query> {
    word("SELECT").parse_next(input)?;
    let distinct = is_there(word("DISTINCT")).parse_next(input)?;
    let top = opt(preceded(word("TOP"), count)).parse_next(input)?;
    let select = select(input)?;
    let from = opt(preceded(word("FROM"), separated(1.., source, word("JOIN"))));
    let from = { from }.parse_next(input)?.unwrap_or_default();
    let filter = opt(preceded(word("WHERE"), expr)).parse_next(input)?;
    let group_by = opt(preceded((word("GROUP"), word("BY")), list(expr, 1)));
    let group_by = { group_by }.parse_next(input)?.unwrap_or_default();
    let by_rank = is_there((word("RANK"), peek(name)));
    let order_by = opt(preceded((word("ORDER"), word("BY")), (by_rank, list(order, 1))));
    let (by_rank, order_by) = { order_by }.parse_next(input)?.unwrap_or_default();
    let offset = preceded(word("OFFSET"), count);
    let offset_limit = opt((offset, preceded(word("LIMIT"), count))).parse_next(input)?;
    Ok(Query { distinct, top, select, from, filter, group_by, order_by, by_rank, offset_limit })
}

fn count(input: &mut Input<'_>) -> Parsed<Count> {
    let number = literal.verify_map(|value| u32::try_from(value.as_u64()?).ok());
    alt((number.map(Count::Literal), parameter.map(Count::Parameter))).parse_next(input)
}

fn select(input: &mut Input<'_>) -> Parsed<Select> {
    let named = (expr, opt(preceded(word("AS"), name)));
    alt((
        symbol("*").value(Select::All),
        preceded(word("VALUE"), expr).map(Select::Value),
        list(named, 1).map(Select::List),
    ))
    .parse_next(input)
}

fn source(input: &mut Input<'_>) -> Parsed<Source> {
    let iterated = opt(terminated(name, word("IN"))).parse_next(input)?;
    let dotted = preceded(symbol("."), name).map(Value::String);
    let indexed = delimited(symbol("["), literal, symbol("]"));
    let path = (name, repeat(0..=MAX_LEVELS, alt((dotted, indexed))));
    let values = alt((
        in_brackets(query).map(|query| Values::Query(Box::new(query))),
        path.map(|(name, steps)| Values::Path(name, steps)),
    ))
    .parse_next(input)?;
    let iterates = iterated.is_some();
    let alias = match iterated {
        Some(alias) => Some(alias),
        None => opt(preceded(opt(word("AS")), name)).parse_next(input)?,
    };
    Ok(Source { values, alias, iterates })
}

fn order(input: &mut Input<'_>) -> Parsed<Order> {
    let by = expr(input)?;
    let direction =
        opt(alt((word("ASC").value(false), word("DESC").value(true)))).parse_next(input)?;
    Ok(Order { by, descending: direction == Some(true), has_direction: direction.is_some() })
}

// The expressions.

/// How strongly the operators bind that are no symbols; those of arithmetic bind more strongly.
const CONDITIONAL: i64 = 1;
const OR: i64 = 5;
const AND: i64 = 7;
const TEST: i64 = 9;

fn expr(input: &mut Input<'_>) -> Parsed<Expr> {
    deeper(expression(operand).postfix(after).infix(between)).parse_next(input)
}

/// An expression without operators that bind less than comparisons.
fn value(input: &mut Input<'_>) -> Parsed<Expr> {
    let value = expression(operand).infix(between).current_precedence_level(TEST + 1);
    deeper(value).parse_next(input)
}

/// An operator that takes more than an operand on its right.
fn after<'t>(input: &mut Input<'t>) -> Parsed<Postfix<Input<'t>, Expr, EmptyError>> {
    let words = alt((word("IN"), word("BETWEEN"), word("LIKE")));
    alt((
        symbol("?").map(|_| Postfix(CONDITIONAL, conditional)),
        peek((opt(word("NOT")), words)).map(|_| Postfix(TEST, test)),
    ))
    .parse_next(input)
}

fn conditional(input: &mut Input<'_>, condition: Expr) -> Parsed<Expr> {
    let (then, otherwise) = separated_pair(expr, symbol(":"), expr).parse_next(input)?;
    Ok(Expr::Conditional(Box::new([condition, then, otherwise])))
}

fn test(input: &mut Input<'_>, of: Expr) -> Parsed<Expr> {
    check_chain(input, &of)?;
    let is_negated = is_there(word("NOT")).parse_next(input)?;
    let range = separated_pair(value, word("AND"), value);
    let pattern = (value, opt(preceded(word("ESCAPE"), text)));
    let test = alt((
        preceded(word("IN"), in_brackets(list(expr, 1))).map(Test::In),
        preceded(word("BETWEEN"), range).map(|(from, to)| Test::Between(from, to)),
        preceded(word("LIKE"), pattern).map(|(pattern, escape)| Test::Like(pattern, escape)),
    ))
    .parse_next(input)?;
    Ok(Expr::Test(Box::new(of), Box::new(test), is_negated))
}

/// An operator between two operands, with its power.
fn between<'t>(input: &mut Input<'t>) -> Parsed<Infix<Input<'t>, Expr, EmptyError>> {
    macro_rules! left {
        ($power:expr, $operator:ident) => {
            Infix::Left($power, |input: &mut Input<'t>, left, right| {
                check_chain(input, &left)?;
                Ok(Expr::Binary(Binary::$operator, Box::new(left), Box::new(right)))
            })
        };
    }
    let operator = |token: &Token<'_>| {
        Some(match token.text {
            "??" => left!(3, Coalesce),
            "||" => left!(11, Concat),
            "|" => left!(13, BitOr),
            "^" => left!(15, BitXor),
            "&" => left!(17, BitAnd),
            "=" => left!(19, Equal),
            "!=" | "<>" => left!(19, NotEqual),
            "<" => left!(21, Less),
            "<=" => left!(21, LessOrEqual),
            ">" => left!(21, Greater),
            ">=" => left!(21, GreaterOrEqual),
            "<<" => left!(23, ShiftLeft),
            ">>" => left!(23, ShiftRight),
            ">>>" => left!(23, ShiftRightUnsigned),
            "+" => left!(25, Plus),
            "-" => left!(25, Minus),
            "*" => left!(27, Times),
            "/" => left!(27, Over),
            "%" => left!(27, Modulo),
            word if word.eq_ignore_ascii_case("AND") => {
                Infix::Left(AND, |_, left, right| Ok(logical(Logical::And, left, right)))
            }
            word if word.eq_ignore_ascii_case("OR") => {
                Infix::Left(OR, |_, left, right| Ok(logical(Logical::Or, left, right)))
            }
            _ => return None,
        })
    };
    next(|token| matches!(token.kind, Kind::Symbol | Kind::Word))
        .verify_map(operator)
        .parse_next(input)
}

/// Refuses an operand on the left that is a long chain of operators. The deeper it stands, the shorter it has to be:
/// else chains within chains would make a tree of any depth.
fn check_chain(input: &Input<'_>, left: &Expr) -> Parsed<()> {
    let mut at = left;
    for _ in 0..MAX_OPERATORS / input.state.levels.max(1) {
        match at {
            Expr::Binary(_, left, _) | Expr::Test(left, ..) => at = left,
            _ => return Ok(()),
        }
    }
    Err(EmptyError)
}

/// Joins conditions; those of a chain stand side by side.
fn logical(operator: Logical, left: Expr, right: Expr) -> Expr {
    match left {
        Expr::Logical(same, mut all) if same == operator => {
            all.push(right);
            Expr::Logical(operator, all)
        }
        left => Expr::Logical(operator, vec![left, right]),
    }
}

fn operand(input: &mut Input<'_>) -> Parsed<Expr> {
    let operator = alt((
        symbol("-").value(Unary::Minus),
        symbol("+").value(Unary::Plus),
        symbol("~").value(Unary::BitNot),
        word("NOT").value(Unary::Not),
    ));
    let operators: Vec<Unary> = repeat(0..=MAX_LEVELS, operator).parse_next(input)?;
    let first = primary(input)?;
    let dotted = preceded(symbol("."), name).map(|name| Expr::Literal(name.into()));
    let indexed = delimited(symbol("["), expr, symbol("]"));
    let steps: Vec<Expr> = repeat(0..=MAX_LEVELS, alt((dotted, indexed))).parse_next(input)?;
    let member = |of, step| Expr::Member(Box::new(of), Box::new(step));
    let operand = steps.into_iter().fold(first, member);
    Ok(operators.into_iter().rev().fold(operand, |of, operator| match (operator, of) {
        (Unary::Minus, Expr::Literal(Value::Number(number))) => Expr::Literal(negative(&number)),
        (operator, of) => Expr::Unary(operator, Box::new(of)),
    }))
}

fn negative(number: &Number) -> Value {
    match number.as_i64().and_then(i64::checked_neg) {
        Some(whole) if whole != 0 => whole.into(),
        _ => number.as_f64().map_or(Value::Null, |number| (-number).into()),
    }
}

fn primary(input: &mut Input<'_>) -> Parsed<Expr> {
    let constant = alt((
        literal.map(Expr::Literal),
        word("true").map(|_| Expr::Literal(true.into())),
        word("false").map(|_| Expr::Literal(false.into())),
        word("null").map(|_| Expr::Literal(Value::Null)),
        word("undefined").map(|_| Expr::Undefined),
    ));
    let quantifier = alt((
        word("EXISTS").value(Quantifier::Exists),
        word("ARRAY").value(Quantifier::Array),
        word("ALL").value(Quantifier::All),
        word("FIRST").value(Quantifier::First),
        word("LAST").value(Quantifier::Last),
    ));
    let array = delimited(symbol("["), deeper(list(expr, 0)), symbol("]"));
    let property = separated_pair(alt((name, text)), symbol(":"), expr);
    let object = delimited(symbol("{"), deeper(list(property, 0)), symbol("}"));
    let query_of = |(quantifier, query)| Expr::Query(quantifier, Box::new(query));
    alt((
        constant,
        (quantifier, in_brackets(query)).map(query_of),
        in_brackets(query).map(|query| query_of((Quantifier::Scalar, query))),
        in_brackets(expr),
        array.map(Expr::Array),
        object.map(Expr::Object),
        call,
        name.map(Expr::Name),
        parameter.map(Expr::Parameter),
    ))
    .parse_next(input)
}

fn call(input: &mut Input<'_>) -> Parsed<Expr> {
    let own = preceded((word("udf"), symbol(".")), name).map(|name| format!("udf.{name}"));
    let name = alt((own, name.map(|name| name.to_ascii_uppercase()))).parse_next(input)?;
    let arguments = in_brackets(list(expr, 0)).parse_next(input)?;
    Ok(Expr::Call(name, arguments))
}
