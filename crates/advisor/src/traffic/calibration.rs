//! The charges beside the estimates for the same requests with the container's current key.

use std::fmt;

use serde::Serialize;

use super::TrafficSummary;
use crate::{
    report::CandidateEstimates,
    request::{RequestKind, RequestOperation},
    words::{about, percent},
};

/// The factor up to which the two are the same: the error of the estimates.
const SAME_CHARGE_FACTOR: f64 = 4.0 / 3.0;

/// The charge of some requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChargedRequests {
    /// The requests.
    #[serde(flatten)]
    pub of: ChargedSubject,
    /// Request units a day.
    pub request_units_per_day: f64,
}

/// The requests behind a charge.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ChargedSubject {
    /// All requests of an operation.
    Operation(RequestOperation),
    /// All requests of a kind, by its name: queries by their text, or calls of a function.
    Kind(String),
}

impl ChargedSubject {
    fn has(&self, request: &RequestKind) -> bool {
        match self {
            Self::Operation(operation) => request.operation == *operation,
            Self::Kind(kind) => request.kind == *kind,
        }
    }
}

impl fmt::Display for ChargedSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation(operation) => {
                let name = serde_json::to_value(operation).unwrap_or_default();
                write!(f, "Operation {}", name.as_str().unwrap_or_default())
            }
            Self::Kind(kind) => write!(f, "The kind \"{kind}\""),
        }
    }
}

impl TrafficSummary {
    /// Adds a note for each operation and each kind: its charge, and the estimate for the container's current
    /// key.
    pub fn compare(&mut self, estimates: &CandidateEstimates, requests: &[RequestKind]) {
        for charged in &self.charged {
            let kinds = estimates.requests.iter().zip(requests);
            let same: Vec<_> = kinds.filter(|(_, kind)| charged.of.has(kind)).collect();
            let estimated = same.iter().filter_map(|(cost, _)| cost.request_units_per_day);
            let sum = estimated.sum::<f64>();
            let was = charged.request_units_per_day;
            if was <= 0.0 || sum <= 0.0 {
                continue;
            }
            let is_of_kind = matches!(charged.of, ChargedSubject::Kind(_));
            let is_scan = same.iter().all(|(_, kind)| {
                kind.operation == RequestOperation::Query && kind.filters.is_empty()
            });
            let verdict = match () {
                () if sum > was * SAME_CHARGE_FACTOR && is_of_kind && is_scan => format!(
                    "{:.1} times as much: its text has no filter that is certain, as with OR, so it counts as a \
                     scan of all items. Write its filters by hand (--write-requests)",
                    sum / was
                ),
                () if sum > was * SAME_CHARGE_FACTOR => format!(
                    "{:.1} times as much: a filter is missing, or finds less than in the sample. Trust what was \
                     charged, and the differences between keys less",
                    sum / was
                ),
                () if was > sum * SAME_CHARGE_FACTOR => format!(
                    "{} of it: requests find more than the sample tells, or others are among them. Trust what \
                     was charged, and the differences between keys less",
                    percent(sum / was)
                ),
                () => "the same within the error".to_owned(),
            };
            self.notes.push(format!(
                "{}: charged {} RU a day, estimated for {} {}, {verdict}.",
                charged.of,
                about(was),
                estimates.strategy,
                about(sum)
            ));
        }
    }
}
