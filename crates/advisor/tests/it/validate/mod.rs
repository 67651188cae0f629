//! Reports on candidates by a generated sample and its requests.

use serde_json::Value;
use tributary_partition::{
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

/// A sample, its requests and its options.
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
