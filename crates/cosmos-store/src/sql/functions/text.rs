//! Functions of texts. Positions and lengths are in characters.

use std::cell::RefCell;

use regex::{Regex, RegexBuilder};

use crate::json::Json;

use super::{Args, count, index};

/// The most characters that REPLICATE makes, as in the service.
const MAX_REPLICATED: usize = 10_000;

/// The most bytes of a compiled regular expression.
const MAX_REGEX_BYTES: usize = 1 << 18;

pub(super) fn of<T: Into<Box<str>>>(args: &Args<'_>, make: fn(&str) -> T) -> Option<Json> {
    Some(Json::text(make(args.text(0)?)))
}

pub(super) fn length(args: &Args<'_>) -> Option<Json> {
    Some(count(args.text(0)?.chars().count()))
}

pub(super) fn concat(args: &Args<'_>) -> Option<Json> {
    let texts: Option<Vec<&str>> = (0..args.len()).map(|n| args.text(n)).collect();
    let texts = texts?;
    args.run.hold(texts.iter().map(|text| text.len()).sum())?;
    Some(Json::text(texts.concat()))
}

/// Returns how a text relates to others; the case may be ignored.
fn compared(one: &str, other: &str, ignore_case: bool, by: fn(&str, &str) -> bool) -> bool {
    if ignore_case { by(&one.to_lowercase(), &other.to_lowercase()) } else { by(one, other) }
}

/// `CONTAINS`, `STARTSWITH` and their like, with a flag at the end that ignores the case.
pub(super) fn compare(args: &Args<'_>, by: fn(&str, &str) -> bool) -> Option<Json> {
    let ignores_case = args.flag(2, false)?;
    Some(Json::Bool(compared(args.text(0)?, args.text(1)?, ignores_case, by)))
}

/// `CONTAINS_ANY_CI` and its like: one answer decides, an undefined one makes the rest undefined.
pub(super) fn contains(args: &Args<'_>, decisive: bool, ignore_case: bool) -> Option<Json> {
    let text = args.text(0)?;
    args.run.spend(text.len() / 16 * args.len())?;
    let answers = (1..args.len()).map(|n| {
        Some(compared(text, args.text(n)?, ignore_case, |text, part| text.contains(part)))
    });
    super::any(answers, decisive)
}

/// Returns the position of a part: the first one behind a start, or the last one.
pub(super) fn index_of(args: &Args<'_>, last: bool) -> Option<Json> {
    let (text, part) = (args.text(0)?, args.text(1)?);
    let start = if args.len() > 2 { index(args.number(2)?)? } else { 0 };
    let begin = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(start);
    let found = begin.and_then(|begin| {
        let behind = text.get(begin..)?;
        let at = if last { behind.rfind(part) } else { behind.find(part) };
        text.get(..begin + at?)
    });
    Some(found.map_or(Json::Number(-1.0), |before| count(before.chars().count())))
}

/// Returns so many characters behind so many.
fn slice(text: &str, skip: i64, take: i64) -> Json {
    let number = |n: i64| usize::try_from(n.max(0)).unwrap_or(usize::MAX);
    Json::text(text.chars().skip(number(skip)).take(number(take)).collect::<String>())
}

pub(super) fn substring(args: &Args<'_>) -> Option<Json> {
    let (text, start, most) = (args.text(0)?, args.whole(1)?, args.whole(2)?);
    // A start before the text gives nothing.
    Some(slice(text, start, if start < 0 { 0 } else { most }))
}

pub(super) fn left(args: &Args<'_>) -> Option<Json> {
    Some(slice(args.text(0)?, 0, args.whole(1)?))
}

pub(super) fn right(args: &Args<'_>) -> Option<Json> {
    let (text, most) = (args.text(0)?, args.whole(1)?.max(0));
    let all = i64::try_from(text.chars().count()).ok()?;
    Some(slice(text, all.saturating_sub(most), all))
}

/// `TRIM`, `LTRIM`, `RTRIM`: of white space, or of these characters.
pub(super) fn trim(args: &Args<'_>, begin: bool, end: bool) -> Option<Json> {
    let set = if args.len() > 1 { Some(args.text(1)?) } else { None };
    let goes = |c: char| set.map_or(c.is_whitespace(), |set| set.contains(c));
    let mut text = args.text(0)?;
    args.run.spend(text.len() / 16 * set.map_or(1, str::len))?;
    if begin {
        text = text.trim_start_matches(goes);
    }
    if end {
        text = text.trim_end_matches(goes);
    }
    Some(Json::text(text))
}

pub(super) fn replace(args: &Args<'_>) -> Option<Json> {
    let (text, from, to) = (args.text(0)?, args.text(1)?, args.text(2)?);
    (!from.is_empty()).then_some(())?;
    args.run
        .hold(text.len().saturating_add(text.matches(from).count().saturating_mul(to.len())))?;
    Some(Json::text(text.replace(from, to)))
}

pub(super) fn replicate(args: &Args<'_>) -> Option<Json> {
    let (text, times) = (args.text(0)?, index(args.number(1)?)?);
    let most = text.chars().count().checked_mul(times)?;
    (most <= MAX_REPLICATED)
        .then(|| Json::text(text.repeat(if text.is_empty() { 0 } else { times })))
}

pub(super) fn split(args: &Args<'_>) -> Option<Json> {
    let (text, separator) = (args.text(0)?, args.text(1)?);
    if separator.is_empty() {
        return Some(Json::Array(vec![Json::text(text)]));
    }
    args.run.hold(text.matches(separator).count().saturating_mul(size_of::<Json>()))?;
    Some(Json::Array(text.split(separator).map(Json::text).collect()))
}

pub(super) fn join(args: &Args<'_>) -> Option<Json> {
    let texts: Option<Vec<&str>> = args.array(0)?.iter().map(Json::as_str).collect();
    let (texts, separator) = (texts?, args.text(1)?);
    let length = texts.iter().map(|text| text.len() + separator.len()).sum();
    args.run.hold(length)?;
    Some(Json::text(texts.join(separator)))
}

/// `TOSTRING`: a text as it is, other values as JSON.
pub(super) fn to_string(args: &Args<'_>) -> Option<Json> {
    match args.get(0)? {
        text @ Json::Text(_) => Some(text.clone()),
        other => Some(Json::text(other.to_string())),
    }
}

/// `STRINGTONUMBER` and its like: JSON of one kind.
pub(super) fn read(args: &Args<'_>, kind: fn(&Json) -> bool) -> Option<Json> {
    Json::parse(args.text(0)?.trim().as_bytes()).ok().filter(kind)
}

thread_local! {
    /// The regular expression that was compiled last: that of each item in turn.
    static COMPILED: RefCell<Option<(String, Option<Regex>)>> = const { RefCell::new(None) };
}

/// `REGEXMATCH`, with the modifiers `m`, `s`, `i`, `x`.
pub(super) fn regex_match(args: &Args<'_>) -> Option<Json> {
    let (text, pattern) = (args.text(0)?, args.text(1)?);
    let modifiers = if args.len() > 2 { args.text(2)? } else { "" };
    if modifiers.chars().any(|modifier| !"msix".contains(modifier)) {
        return None;
    }
    // A regular expression takes linear time, but several steps for each of its bytes.
    args.run.spend(text.len().saturating_mul(pattern.len() / 8 + 1) / 4)?;
    let key = format!("{modifiers}/{pattern}");
    COMPILED.with_borrow_mut(|compiled| {
        if compiled.as_ref().is_none_or(|(known, _)| *known != key) {
            args.run.spend(pattern.len().saturating_mul(10))?;
            let regex = RegexBuilder::new(pattern)
                .multi_line(modifiers.contains('m'))
                .dot_matches_new_line(modifiers.contains('s'))
                .case_insensitive(modifiers.contains('i'))
                .ignore_whitespace(modifiers.contains('x'))
                .size_limit(MAX_REGEX_BYTES)
                .build();
            *compiled = Some((key, regex.ok()));
        }
        let (_, regex) = compiled.as_ref()?;
        match regex {
            Some(regex) => Some(Json::Bool(regex.is_match(text))),
            None => args.run.refuse(format!(
                "The regular expression '{pattern}' of REGEXMATCH is malformed, too large, or has a feature that this store lacks (look-around, back references)."
            )),
        }
    })
}
