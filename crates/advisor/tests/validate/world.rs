//! A sample, its requests, and the reports on candidates.

use serde_json::{Value, json};
use tributary_partition::{
    CandidateReport, RequestKind, ValidationOptions, report::Severity, validate,
};

/// A sample and its options.
#[derive(Default)]
pub(crate) struct ValidationWorld {
    items: String,
    requests: Vec<RequestKind>,
    pub(crate) options: ValidationOptions,
}

impl ValidationWorld {
    pub(crate) fn of(items: impl IntoIterator<Item = Value>) -> Self {
        let items = items.into_iter().map(|item| item.to_string() + "\n").collect();
        Self { items, ..Self::default() }
    }

    pub(crate) fn with(mut self, request: Value) -> Self {
        self.requests.push(serde_json::from_value(request).unwrap());
        self
    }

    pub(crate) fn time(mut self, path: &str) -> Self {
        self.options.time = Some(path.parse().unwrap());
        self
    }

    pub(crate) fn report(&self, candidate: &str) -> CandidateReport {
        let candidates = vec![candidate.parse().unwrap()];
        let requests = self.requests.clone();
        let options = self.options.clone();
        validate(self.items.as_bytes(), requests, candidates, options).unwrap().remove(0)
    }
}

/// Returns the names of the warnings.
pub(crate) fn warnings(report: &CandidateReport) -> Vec<&str> {
    let is_warning = |severity| severity == Severity::Warning;
    report.findings.iter().filter(|f| is_warning(f.severity)).map(|f| f.code).collect()
}

#[track_caller]
pub(crate) fn near(measured: f64, expected: f64, error: f64) {
    assert!((measured - expected).abs() <= error * expected.abs(), "{measured} for {expected}");
}

/// Returns the time of the nth second of November 2026.
pub(crate) fn second(n: u64) -> String {
    let day = n / 86_400 % 30 + 1;
    let rest = n % 86_400;
    format!("2026-11-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
}

/// Returns a query with this frequency.
pub(crate) fn query(kind: &str, filters: Value, per_day: u32) -> Value {
    json!({"kind": kind, "operation": "query", "filters": filters, "frequency": {"perDay": per_day}})
}
