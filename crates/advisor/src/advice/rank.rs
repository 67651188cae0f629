//! Which candidate is better.

use serde::Serialize;

use super::{COUNTED, complexity};
use crate::report::{Report, Severity};

/// A candidate in the ranking.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Its place, from 1.
    pub place: usize,
    /// Whether its transactions are in one logical partition each.
    pub works: bool,
    /// Its warnings whose harm is not counted otherwise.
    pub risks: Vec<&'static str>,
    /// Request units a day, or of one request of each kind where no frequency is known. `None` without
    /// requests.
    pub request_units: Option<f64>,
    /// What was measured.
    pub report: Report,
}

/// Returns the candidates, the best first. [`crate::advice`] says what is better.
pub fn rank(reports: Vec<Report>) -> Vec<Standing> {
    let mut standings: Vec<_> = reports.into_iter().map(Standing::of).collect();
    standings.sort_by(|a, b| {
        b.works
            .cmp(&a.works)
            .then(two_digits(a.score()).total_cmp(&two_digits(b.score())))
            .then(two_digits(a.share()).total_cmp(&two_digits(b.share())))
            .then(a.warnings().len().cmp(&b.warnings().len()))
            // Notices decide between two that cost the same.
            .then(a.report.findings.len().cmp(&b.report.findings.len()))
            .then(a.simplicity().cmp(&b.simplicity()))
    });
    for (n, standing) in standings.iter_mut().enumerate() {
        standing.place = n + 1;
    }
    standings
}

impl Standing {
    fn of(report: Report) -> Self {
        let warnings =
            report.findings.iter().filter(|finding| finding.severity == Severity::Warning);
        let mut risks: Vec<_> = warnings.map(|finding| finding.code).collect();
        risks.retain(|code| !COUNTED.contains(code));
        let each = || report.requests.iter().map(|request| request.request_units).sum();
        let has_frequencies = report.requests.iter().any(|request| request.per_day.is_some());
        Self {
            place: 0,
            works: report.requests.iter().all(|request| request.transaction_fits != Some(false)),
            risks,
            request_units: match report.requests.as_slice() {
                [] => None,
                _ if has_frequencies => Some(report.request_units_per_day.value),
                _ => Some(each()),
            },
            report,
        }
    }

    /// Returns the request units a day, doubled for each risk; or the number of risks.
    pub fn score(&self) -> f64 {
        let risks = i32::try_from(self.risks.len()).unwrap_or(i32::MAX);
        match self.request_units {
            Some(request_units) => request_units * 2_f64.powi(risks),
            None => f64::from(risks),
        }
    }

    /// Returns the largest share of one partition, where nothing else tells the candidates apart.
    fn share(&self) -> f64 {
        if self.request_units.is_some() { 0.0 } else { self.report.by_bytes.largest }
    }

    fn simplicity(&self) -> (usize, String) {
        let notation = self.report.strategy.to_string();
        (complexity(&self.report.strategy), notation)
    }
}

/// Rounds to two digits.
fn two_digits(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return number;
    }
    let unit = 10_f64.powf(number.abs().log10().floor() - 1.0);
    (number / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn two_digits_keep_the_order_and_the_size(a in 1e-3..1e12_f64, b in 1e-3..1e12_f64) {
            prop_assert!((two_digits(a) / a - 1.0).abs() < 0.051);
            if a <= b {
                prop_assert!(two_digits(a) <= two_digits(b) * (1.0 + 1e-12));
            }
        }
    }
}
