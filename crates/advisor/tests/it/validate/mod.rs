//! Reports on candidates by a generated sample and its requests.

use serde_json::Value;
use tributary_partition::{
    CandidateReport, RequestKind, ValidationOptions, report::Severity, validate,
};

mod anti_patterns;
mod estimates;
mod input;
mod large;
mod ranking;
mod samples;
mod times;

/// A sample, its requests and its options.
#[derive(Default)]
struct ValidationWorld {
    items: String,
    requests: Vec<RequestKind>,
    options: ValidationOptions,
}

impl ValidationWorld {
    fn of(items: impl IntoIterator<Item = Value>) -> Self {
        let items = items.into_iter().map(|item| item.to_string() + "\n").collect();
        Self { items, ..Self::default() }
    }

    fn with(mut self, request: Value) -> Self {
        self.requests.push(serde_json::from_value(request).unwrap());
        self
    }

    fn time(mut self, path: &str) -> Self {
        self.options.time = Some(path.parse().unwrap());
        self
    }

    fn report(&self, candidate: &str) -> CandidateReport {
        let candidates = vec![candidate.parse().unwrap()];
        let requests = self.requests.clone();
        let options = self.options.clone();
        validate(self.items.as_bytes(), requests, candidates, options).unwrap().remove(0)
    }
}

/// Returns the names of the warnings.
fn warnings(report: &CandidateReport) -> Vec<&str> {
    let is_warning = |severity| severity == Severity::Warning;
    report.findings.iter().filter(|f| is_warning(f.severity)).map(|f| f.code).collect()
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
