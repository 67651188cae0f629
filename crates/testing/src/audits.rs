//! The audits of an app, run on a world.

use std::time::Duration;

use tributary_functions::audit::{AuditOptions, Finding, Listener};

use crate::{AppUnderTest, World};

#[derive(Default)]
struct Findings(Vec<String>);

impl Listener for Findings {
    fn findings(&mut self, findings: &[Finding]) {
        let words = |one: &Finding| format!("{} {} {}", one.kind, one.partition_key, one.id);
        self.0.extend(findings.iter().map(words));
    }
}

impl<A: AppUnderTest> World<A> {
    /// Runs all audits of the app, which wait for no change feed, and returns their findings, sorted:
    /// `copy-missing ann a1` for an item `a1` of the partition `ann`. With `repair` the audits also repair them.
    pub async fn audit(&self, repair: bool) -> Vec<String> {
        let app = Self::app(&Self::cosmos(&self.endpoint).await, Self::options());
        let mut findings = Findings::default();
        for (_, audit) in app.audits() {
            let options = AuditOptions { settle: Duration::ZERO, repair };
            audit.run(options, &mut findings).await.unwrap();
        }
        findings.0.sort();
        findings.0
    }
}
