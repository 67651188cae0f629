//! The audits of an app, run on a world.

use std::time::Duration;

use tributary_functions::audit::{Audit, AuditOptions};

use crate::{AppUnderTest, World};

impl<A: AppUnderTest> World<A> {
    /// Runs all audits of the app, as [`findings`] does, and returns what they find, sorted.
    pub async fn audit(&self, repair: bool) -> Vec<String> {
        let app = Self::app(&Self::cosmos(&self.endpoint).await, Self::options());
        let mut all = Vec::new();
        for (_, audit) in app.audits() {
            all.extend(findings(audit, repair).await);
        }
        all.sort();
        all
    }
}

/// Runs an audit, which waits for no change feed, and returns its findings, sorted: `copy-missing ann a1` for an
/// item `a1` of the partition `ann`.
pub async fn findings(audit: &Audit, repair: bool) -> Vec<String> {
    let mut found = Vec::new();
    let options = AuditOptions { settle: Duration::ZERO, repair };
    let summary = audit.run(options, &mut found).await.unwrap();
    assert!(!repair || summary.is_clean(), "{found:?}");
    let words = found
        .iter()
        .map(|finding| format!("{} {} {}", finding.kind, finding.partition_key, finding.id));
    let mut words: Vec<String> = words.collect();
    words.sort();
    words
}
