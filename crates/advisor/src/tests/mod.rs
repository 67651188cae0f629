//! Reports on candidates by a generated sample and its requests.
#![allow(clippy::cast_precision_loss, reason = "counts are small")]
#![allow(clippy::float_cmp, reason = "numbers that must be exact")]
#![allow(clippy::needless_pass_by_value, reason = "json!(…) is passed as it is")]

use serde_json::{Value, json};

use crate::{
    CandidateReport, RequestKind, ValidationOptions,
    advice::{RankedCandidate, rank},
    validate,
};

mod anti_patterns;
mod estimates;
mod input;
mod ranking;
mod samples;
mod times;

#[derive(Clone, Default)]
struct ValidationWorld {
    items: Vec<Value>,
    requests: Vec<RequestKind>,
    options: ValidationOptions,
}

impl ValidationWorld {
    fn of(items: impl IntoIterator<Item = Value>) -> Self {
        Self { items: items.into_iter().collect(), ..Self::default() }
    }

    fn with(mut self, request: Value) -> Self {
        self.requests.push(serde_json::from_value(request).unwrap());
        self
    }

    fn time(mut self, path: &str) -> Self {
        self.options.time = Some(path.parse().unwrap());
        self
    }

    fn reports(&self, candidates: &[&str]) -> Vec<CandidateReport> {
        let items: String = self.items.iter().map(|item| item.to_string() + "\n").collect();
        let candidates = candidates.iter().map(|candidate| candidate.parse().unwrap()).collect();
        validate(items.as_bytes(), self.requests.clone(), candidates, self.options.clone()).unwrap()
    }

    fn report(&self, candidate: &str) -> CandidateReport {
        self.reports(&[candidate]).remove(0)
    }

    fn ranked(&self, candidates: &[&str]) -> Vec<RankedCandidate> {
        rank(self.reports(candidates))
    }
}

fn warnings(report: &CandidateReport) -> Vec<&str> {
    report.warnings().collect()
}

#[track_caller]
fn near(measured: f64, expected: f64, error: f64) {
    assert!((measured - expected).abs() <= error * expected.abs(), "{measured} for {expected}");
}

/// Returns the time of the nth second of November 2026.
fn second(n: u64) -> String {
    let day = n / 86_400 % 30 + 1;
    let rest = n % 86_400;
    format!("2026-11-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// Returns a number between 0 and 1 that only depends on `n` and on what it is drawn for.
fn random(n: u64, of: u64) -> f64 {
    let mixed = (n ^ (of << 40)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

fn query(kind: &str, filters: Value, per_day: u32) -> Value {
    json!({"kind": kind, "operation": "query", "filters": filters, "frequency": {"perDay": per_day}})
}

fn read(filters: Value, per_day: u32) -> Value {
    json!({"kind": "read", "operation": "read", "filters": filters, "frequency": {"perDay": per_day}})
}

fn create(per_day: u32) -> Value {
    json!({"kind": "create", "operation": "create", "frequency": {"perDay": per_day}})
}
