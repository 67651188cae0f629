//! Mathematical functions.

use std::hash::{BuildHasher, RandomState};

use crate::json::Json;

use super::{Args, number};

pub(super) fn of(args: &Args<'_>, make: fn(f64) -> f64) -> Option<Json> {
    Some(Json::Number(make(args.number(0)?)))
}

pub(super) fn of_two(args: &Args<'_>, make: fn(f64, f64) -> f64) -> Option<Json> {
    Some(Json::Number(make(args.number(0)?, args.number(1)?)))
}

/// Returns a number made of one whole number and, if there is one, of a second one, on 64 bits that wrap around.
pub(super) fn of_whole(args: &Args<'_>, make: fn(i64, i64) -> Option<i64>) -> Option<Json> {
    let other = if args.len() > 1 { args.whole(1)? } else { 0 };
    Some(number(make(args.whole(0)?, other)?))
}

pub(super) fn log(args: &Args<'_>) -> Option<Json> {
    let number = args.number(0)?;
    Some(Json::Number(if args.len() > 1 { number.log(args.number(1)?) } else { number.ln() }))
}

/// `ROUND`: halves go away from zero.
pub(super) fn round(args: &Args<'_>) -> Option<Json> {
    let number = args.number(0)?;
    if args.len() == 1 {
        return Some(Json::Number(number.round()));
    }
    let scale = 10_f64.powi(i32::try_from(args.whole(1)?).ok()?);
    let scaled = number * scale;
    Some(Json::Number(if scaled.is_finite() && scale > 0.0 {
        scaled.round() / scale
    } else {
        number
    }))
}

pub(super) fn sign(number: f64) -> f64 {
    if number == 0.0 { 0.0 } else { number.signum() }
}

#[allow(clippy::cast_precision_loss, reason = "53 bits")]
#[allow(clippy::unnecessary_wraps, reason = "the type of a function")]
pub(super) fn random(_: &Args<'_>) -> Option<Json> {
    let bits = RandomState::new().hash_one(0) >> 11;
    Some(Json::Number(bits as f64 / 2_f64.powi(53)))
}

/// `NUMBERBIN`: the multiple of the size below a number.
pub(super) fn bin(args: &Args<'_>) -> Option<Json> {
    let size = if args.len() > 1 { args.number(1)? } else { 1.0 };
    (size > 0.0).then_some(())?;
    Some(Json::Number((args.number(0)? / size).floor() * size))
}

/// `VECTORDISTANCE`: cosine similarity, or what the options name.
pub(super) fn vector_distance(args: &Args<'_>) -> Option<Json> {
    let numbers = |n| args.array(n)?.iter().map(Json::as_f64).collect::<Option<Vec<f64>>>();
    let (one, other) = (numbers(0)?, numbers(1)?);
    if one.len() != other.len() || one.is_empty() {
        return None;
    }
    let product =
        |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let metric = args.get(3).and_then(|options| options.get("distanceFunction")?.as_str());
    let metric = metric.unwrap_or("cosine").to_ascii_lowercase();
    Some(Json::Number(match metric.as_str() {
        "cosine" => product(&one, &other) / (product(&one, &one) * product(&other, &other)).sqrt(),
        "dotproduct" => product(&one, &other),
        "euclidean" => one.iter().zip(&other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        _ => return None,
    }))
}

/// `_VECTORSCORE`: greater for vectors that are more similar, whatever the metric.
pub(super) fn vector_score(args: &Args<'_>) -> Option<Json> {
    let distance = vector_distance(args)?.as_f64()?;
    let metric = args.get(3).and_then(|options| options.get("distanceFunction")?.as_str());
    let is_distance = metric.is_some_and(|metric| metric.eq_ignore_ascii_case("euclidean"));
    Some(Json::Number(if is_distance { -distance } else { distance }))
}
