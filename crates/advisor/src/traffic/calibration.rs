//! What was charged beside what is estimated for the same requests with the key that the container has.

use serde::Serialize;

use super::Measured;
use crate::{
    report::Report,
    request::{Operation, RequestKind},
    words::{about, percent},
};

/// Below this factor the two are the same: the error of the estimates.
const SAME: f64 = 4.0 / 3.0;

/// What the requests of an operation were charged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Charged {
    /// The operation.
    pub operation: Operation,
    /// Request units a day.
    pub request_units_per_day: f64,
}

impl Measured {
    /// Adds a note for each operation: what it was charged, and what the report on the key that the
    /// container has estimates.
    pub fn compare(&mut self, report: &Report, requests: &[RequestKind]) {
        for charged in &self.charged {
            let kinds = report.requests.iter().zip(requests);
            let same = kinds.filter(|(_, kind)| kind.operation == charged.operation);
            let estimated: Vec<f64> =
                same.filter_map(|(cost, _)| cost.request_units_per_day).collect();
            let (sum, was) = (estimated.iter().sum::<f64>(), charged.request_units_per_day);
            if estimated.is_empty() || was <= 0.0 || sum <= 0.0 {
                continue;
            }
            let name = serde_json::to_value(charged.operation).unwrap_or_default();
            let name = name.as_str().unwrap_or_default();
            let verdict = if sum > was * SAME {
                format!(
                    "{:.1} times as much: a filter is missing, or finds less than in the sample. Trust what was \
                     charged, and the differences between keys less",
                    sum / was
                )
            } else if was > sum * SAME {
                format!(
                    "{} of it: requests find more than the sample tells, or others are among them. Trust what \
                     was charged, and the differences between keys less",
                    percent(sum / was)
                )
            } else {
                "the same within the error".to_owned()
            };
            self.notes.push(format!(
                "Operation {name}: charged {} RU a day, estimated for {} {}, {verdict}.",
                about(was),
                report.strategy,
                about(sum)
            ));
        }
    }
}
