//! The comparison after quiet: all due items are migrated, and every item is found, once.

use http::Method;
use serde_json::Value;
use tributary_local::client::Call;

use super::{
    ItemText, ListWindow, News, items::number_of, operation::MAX_WINDOW_DAYS, text::PROVIDERS,
};
use crate::{Api, Reply, comparison::Comparison};

/// The number of runs of the migration or the archive at most.
const MAX_RUNS: usize = 50;

/// The days of lists that are compared: a little less than the age of the archive.
const LISTED_DAYS: i64 = 4 * 90;

/// Sends every query for all items and returns the differences from the model, a sentence each.
pub(super) async fn check(api: &dyn Api, model: &News) -> Vec<String> {
    let mut check = NewsCheck { model, it: Comparison::new(api) };
    // Before and after the migration, which must make no difference.
    check.lists().await;
    check.items().await;
    for path in ["/api/news/migrate", "/api/news/archive"] {
        check.runs(api, path).await;
    }
    check.lists().await;
    check.items().await;
    check.it.end()
}

struct NewsCheck<'a> {
    model: &'a News,
    it: Comparison<'a>,
}

impl NewsCheck<'_> {
    /// Runs the migration or the archive until no item is due, or only poisoned ones. The only failures
    /// are those of poisoned items.
    async fn runs(&mut self, api: &dyn Api, path: &str) {
        let may_fail = self.model.size.poisoned;
        for _ in 0..MAX_RUNS {
            match api.send(Call::new(Method::POST, path)).await {
                Some(Reply { status: 200, body, .. })
                    if body["failed"].as_u64().is_some_and(|failed| failed <= may_fail) =>
                {
                    let is_stuck = [&body["migrated"], &body["archived"]]
                        .iter()
                        .all(|moved| moved.as_u64().unwrap_or_default() == 0);
                    if body["complete"] == true || (may_fail > 0 && is_stuck) {
                        return;
                    }
                }
                other => return self.it.differs(format!("POST {path} was answered {other:?}")),
            }
        }
        self.it.differs(format!("POST {path} does not end"));
    }

    /// Checks that each item is in the lists of all and of its provider, once, in its last version.
    async fn lists(&mut self) {
        let now = self.model.days_ago(0);
        let providers = (0..PROVIDERS.len()).map(Some).chain([None]);
        for provider in providers {
            let mut shown: Vec<Vec<Value>> = vec![Vec::new(); self.model.items.len()];
            let since = self.model.days_ago(LISTED_DAYS);
            let mut to = now;
            while to > since {
                let from = (to - time::Duration::days(MAX_WINDOW_DAYS - 2)).max(since);
                let window = ListWindow::new(provider, from..to, 100);
                let path = window.path("/api/news/items?");
                for item in self.it.list(&path).await {
                    match number_of(&item).and_then(|number| shown.get_mut(number)) {
                        Some(shown) => shown.push(item),
                        None => self.it.differs(format!("{item} was never posted")),
                    }
                }
                to = from;
            }
            for (number, shown) in shown.iter().enumerate() {
                let is_of_list = provider.is_none_or(|it| it == number % PROVIDERS.len());
                let is_listed =
                    |text: &ItemText| (since..now).contains(&text.published) && is_of_list;
                let versions = self.model.items[number].now();
                let right = match shown.as_slice() {
                    [] => versions.iter().any(|text| !text.is_some_and(is_listed)),
                    [one] => versions
                        .iter()
                        .flatten()
                        .any(|text| is_listed(text) && text.is_shown(number, one)),
                    _ => false,
                };
                if !right {
                    self.it.differs(format!(
                        "item {number} in the list of {provider:?} is {shown:?}, and should be one \
                         of {versions:?}"
                    ));
                }
            }
        }
    }

    /// Checks that each item is read by its id.
    async fn items(&mut self) {
        for (number, item) in self.model.items.iter().enumerate() {
            let Some(path) = item.path() else { continue };
            let shown = self.it.get(path).await;
            let right = match &shown {
                Some(shown) => {
                    item.now().into_iter().flatten().any(|text| text.is_shown(number, shown))
                }
                None => item.is_uncertain(),
            };
            if !right {
                self.it.differs(format!("{path} is {shown:?} instead of {item:?}"));
            }
        }
    }
}
