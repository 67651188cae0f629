//! Operators.

use std::cmp::Ordering;

use cosmos_model::sql::Binary;

use crate::json::Json;

use super::eval::Run;

/// Returns what an operator makes of two values; `None` is undefined.
pub(super) fn binary(operator: Binary, one: &Json, other: &Json, run: &Run) -> Option<Json> {
    use Binary as B;

    let compared =
        |is: fn(Ordering) -> bool| one.compares_with(other).then(|| Json::Bool(is(one.cmp(other))));
    match operator {
        B::Coalesce => Some(one.clone()),
        B::Equal => Some(Json::Bool(one == other)),
        B::NotEqual => Some(Json::Bool(one != other)),
        B::Less => compared(Ordering::is_lt),
        B::LessOrEqual => compared(Ordering::is_le),
        B::Greater => compared(Ordering::is_gt),
        B::GreaterOrEqual => compared(Ordering::is_ge),
        B::Concat => {
            let (one, other) = (one.as_str()?, other.as_str()?);
            run.hold(one.len() + other.len())?;
            Some(Json::text(format!("{one}{other}")))
        }
        _ => arithmetic(operator, one.as_f64()?, other.as_f64()?),
    }
}

fn arithmetic(operator: Binary, one: f64, other: f64) -> Option<Json> {
    use Binary as B;

    // The operators on bits are those of JavaScript: on 32 bits.
    let shift = u32::from_ne_bytes(int32(other).to_ne_bytes()) & 31;
    let unsigned = u32::from_ne_bytes(int32(one).to_ne_bytes());
    let number = match operator {
        B::Plus => one + other,
        B::Minus => one - other,
        B::Times => one * other,
        B::Over => one / other,
        B::Modulo => one % other,
        B::BitOr => (int32(one) | int32(other)).into(),
        B::BitXor => (int32(one) ^ int32(other)).into(),
        B::BitAnd => (int32(one) & int32(other)).into(),
        B::ShiftLeft => int32(one).wrapping_shl(shift).into(),
        B::ShiftRight => int32(one).wrapping_shr(shift).into(),
        B::ShiftRightUnsigned => unsigned.wrapping_shr(shift).into(),
        _ => return None,
    };
    number_of(number)
}

pub(super) fn number_of(number: f64) -> Option<Json> {
    number.is_finite().then_some(Json::Number(number))
}

/// Returns the 32 bits that JavaScript takes of a number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 2^32")]
pub(super) fn int32(number: f64) -> i32 {
    let bits = number.trunc().rem_euclid(4_294_967_296.0);
    i32::from_ne_bytes((bits as u32).to_ne_bytes())
}

/// A part of a pattern of LIKE.
#[derive(Debug, PartialEq)]
pub(super) enum Part {
    Any,
    One,
    Char(char),
    /// Any of these ranges; or none of them.
    Set(Vec<(char, char)>, bool),
}

/// Returns whether a text has a pattern of LIKE.
pub(super) fn is_like(text: &str, parts: &[Part], run: &Run) -> Option<bool> {
    let (mut rest, mut part) = (text, 0);
    // Where the last `%` was, and the text then: it takes one more character whenever what follows fails.
    let mut last: Option<(usize, &str)> = None;
    while let Some(c) = rest.chars().next() {
        run.spend(1)?;
        let fits = match parts.get(part) {
            Some(Part::Any) => {
                last = Some((part, rest));
                part += 1;
                continue;
            }
            Some(Part::One) => true,
            Some(Part::Char(wanted)) => c == *wanted,
            Some(Part::Set(ranges, is_negated)) => {
                ranges.iter().any(|(from, to)| (from..=to).contains(&&c)) != *is_negated
            }
            None => false,
        };
        if fits {
            (rest, part) = (rest.get(c.len_utf8()..)?, part + 1);
        } else if let Some((any, begin)) = last {
            rest = begin.get(begin.chars().next()?.len_utf8()..)?;
            last = Some((any, rest));
            part = any + 1;
        } else {
            return Some(false);
        }
    }
    Some(parts.iter().skip(part).all(|part| *part == Part::Any))
}

pub(super) fn like_parts(pattern: &str, escape: Option<char>) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        parts.push(match c {
            c if Some(c) == escape => Part::Char(rest.next().unwrap_or(c)),
            '%' if parts.last() == Some(&Part::Any) => continue,
            '%' => Part::Any,
            '_' => Part::One,
            '[' => match set(rest.as_str()) {
                Some((set, behind)) => {
                    rest = behind.chars();
                    set
                }
                None => Part::Char('['),
            },
            c => Part::Char(c),
        });
    }
    parts
}

/// Reads a set of characters behind its `[`.
fn set(text: &str) -> Option<(Part, &str)> {
    // A `]` in the first place is a character of the set.
    let is_negated = text.starts_with('^');
    let inner = if is_negated { text.get(1..)? } else { text };
    let first = inner.chars().next()?.len_utf8();
    let end = first + inner.get(first..)?.find(']')?;
    let chars: Vec<char> = inner.get(..end)?.chars().collect();
    let mut ranges = Vec::new();
    let mut left = chars.as_slice();
    while let Some((from, rest)) = left.split_first() {
        let (to, rest) = if let ['-', to, rest @ ..] = rest { (to, rest) } else { (from, rest) };
        ranges.push((*from, *to));
        left = rest;
    }
    Some((Part::Set(ranges, is_negated), inner.get(end + 1..)?))
}
