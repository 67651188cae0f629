//! The comparison after quiet: all due items are migrated, and every item is found, once.

use std::time::Instant;

use http::Method;
use serde_json::Value;
use tributary_local::client::Call;

use super::{
    LISTED_DAYS, News,
    item::{ItemText, PROVIDERS, number_of},
    window::{ListWindow, MAX_WINDOW_DAYS},
};
use crate::api::{Comparison, Reply};

const MAX_RUNS: usize = 50;

impl News {
    /// Runs the migration or the archive until no item is due, or only poisoned ones. The only failures
    /// are those of poisoned items.
    pub(super) async fn finish_runs(&self, it: &mut Comparison<'_>, path: &str) {
        let may_fail = self.poisoned as u64;
        for _ in 0..MAX_RUNS {
            match it.api.send(&Call::new(Method::POST, path)).await {
                Some(Reply { status: 200, body, .. })
                    if body["failed"].as_u64().is_some_and(|failed| failed <= may_fail) =>
                {
                    let moved = ["migrated", "archived"].map(|it| body[it].as_u64().unwrap_or(0));
                    if body["complete"] == true || (may_fail > 0 && moved == [0, 0]) {
                        return;
                    }
                }
                other => return it.differs(format!("POST {path} was answered {other:?}")),
            }
        }
        it.differs(format!("POST {path} does not end"));
    }

    /// Checks that each item is in the lists of all and of its provider, once, in its last version.
    pub(super) async fn check_lists(&self, it: &mut Comparison<'_>) {
        let now = self.now();
        let since = self.days_ago(LISTED_DAYS);
        for provider in (0..PROVIDERS.len()).map(Some).chain([None]) {
            let whole = ListWindow::new(provider, since..now, 100);
            let mut shown: Vec<Vec<Value>> = vec![Vec::new(); self.items.len()];
            let mut to = now;
            while to > since {
                let from = (to - time::Duration::days(MAX_WINDOW_DAYS - 2)).max(since);
                let path = ListWindow::new(provider, from..to, 100).path("/api/news/items?");
                for item in it.list(&path).await {
                    match number_of(&item).and_then(|number| shown.get_mut(number)) {
                        Some(shown) => shown.push(item),
                        None => it.differs(format!("{item} was never posted")),
                    }
                }
                to = from;
            }
            for (number, shown) in shown.iter().enumerate() {
                let is_listed =
                    |text: &ItemText| whole.has(text.published) && whole.has_provider_of(number);
                let versions = self.items[number].versions(Instant::now());
                let is_right = match shown.as_slice() {
                    [] => versions.iter().any(|text| !text.is_some_and(is_listed)),
                    [shown] => versions
                        .iter()
                        .flatten()
                        .any(|text| is_listed(text) && text.is_shown(number, shown)),
                    _ => false,
                };
                if !is_right {
                    it.differs(format!(
                        "item {number} in the list of {provider:?} is {shown:?}, and should be one \
                         of {versions:?}"
                    ));
                }
            }
        }
    }

    pub(super) async fn check_items(&self, it: &mut Comparison<'_>) {
        for (number, item) in self.items.iter().enumerate() {
            let Some(path) = &item.path else { continue };
            let shown = it.get(path).await;
            let is_right = match &shown {
                Some(shown) => item
                    .versions(Instant::now())
                    .into_iter()
                    .flatten()
                    .any(|text| text.is_shown(number, shown)),
                None => item.is_uncertain(),
            };
            if !is_right {
                it.differs(format!("{path} is {shown:?} instead of {item:?}"));
            }
        }
    }
}
