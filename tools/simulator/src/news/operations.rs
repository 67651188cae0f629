//! Posts, reads, lists and searches, and their right answers.

use std::{collections::BTreeSet, ops::Range, time::Instant};

use serde_json::{Value, json};
use time::OffsetDateTime;
use tributary_local::{chaos::Random, client::Call};

use super::{
    News,
    item::{ItemText, date_of, number_of, path_of},
    window::ListWindow,
};
use crate::{
    api::{Reply, listed},
    workload::{Operation, verdict},
};

impl News {
    pub(super) fn post(&mut self, item: usize, random: &mut Random) -> Operation<Self> {
        let text = ItemText::random(self, item, random);
        Operation::new(
            Call::post("/api/news/items", text.body(item)),
            move |news: &mut Self, reply| {
                let is_shown = text.is_shown(item, &reply.body);
                let status = u64::from(reply.status);
                let is_right = news.was_stored(item, text, status, &reply.body, reply.repeated);
                verdict(is_right && is_shown, &news.items[item])
            },
        )
    }

    pub(super) fn post_batch(&mut self, items: Vec<usize>, random: &mut Random) -> Operation<Self> {
        let posts: Vec<_> =
            items.iter().map(|&item| (item, ItemText::random(self, item, random))).collect();
        let bodies: Vec<Value> = posts.iter().map(|(item, text)| text.body(*item)).collect();
        let call = Call::post("/api/news/items/batch", json!({ "items": bodies }));
        Operation::new(call, move |news: &mut Self, reply| {
            let is_right = news.batch_was_posted(posts, reply);
            let states: Vec<_> = items.iter().map(|item| &news.items[*item]).collect();
            verdict(is_right, &states)
        })
    }

    fn batch_was_posted(&mut self, posts: Vec<(usize, ItemText)>, reply: &Reply) -> bool {
        let outcomes = listed(&reply.body);
        if reply.status != 200 || outcomes.len() != posts.len() {
            return false;
        }
        let mut succeeded = 0;
        let mut is_right = true;
        for ((item, text), outcome) in posts.into_iter().zip(outcomes) {
            let status = outcome["status"].as_u64().unwrap_or(0);
            if matches!(status, 429 | 503) {
                // As for a single post, the outcome is unknown.
                self.items[item].maybe.push(text);
                continue;
            }
            succeeded += 1;
            is_right &= self.was_stored(item, text, status, outcome, reply.repeated);
        }
        is_right && reply.body["succeeded"] == succeeded
    }

    fn was_stored(
        &mut self,
        item: usize,
        text: ItemText,
        status: u64,
        shown: &Value,
        repeated: bool,
    ) -> bool {
        let state = &mut self.items[item];
        let existed = state.text.now().is_some();
        let is_right = match status {
            201 => !existed,
            200 => existed || repeated || state.is_uncertain(),
            _ => false,
        };
        state.path = path_of(shown);
        state.maybe.clear();
        state.text.replace(Some(text));
        is_right && state.path.is_some()
    }

    pub(super) fn get(item: usize, path: &str) -> Operation<Self> {
        Operation::new(Call::get(path), move |news: &mut Self, reply| {
            let state = &news.items[item];
            let is_right = match reply.status {
                200 => {
                    let mut versions = state.versions(reply.oldest).into_iter().flatten();
                    versions.any(|text| text.is_shown(item, &reply.body))
                }
                // A relocation may have moved it.
                404 => state.is_uncertain(),
                _ => false,
            };
            verdict(is_right, state)
        })
    }

    pub(super) fn search(item: usize, window: ListWindow) -> Operation<Self> {
        let call = Call::get(window.path(&format!("/api/news/search?q=ITEM-{item}.&")));
        Operation::new(call, move |news: &mut Self, reply| {
            let shown = listed(&reply.body);
            let is_right = reply.status == 200
                && shown.iter().all(|shown| number_of(shown) == Some(item))
                && news.is_in(item, &window.covered(&reply.body), shown, reply.oldest);
            verdict(is_right, &news.items[item])
        })
    }

    /// A page must be sorted and without duplicates, and must have all items of the client in a possible
    /// state. The next page of the list becomes the client's next request.
    pub(super) fn list(client: usize, window: ListWindow) -> Operation<Self> {
        let call = Call::get(window.path("/api/news/items?"));
        Operation::new(call, move |news: &mut Self, reply| {
            let shown = listed(&reply.body);
            let dates: Vec<_> = shown.iter().filter_map(date_of).collect();
            let ids: BTreeSet<_> = shown.iter().filter_map(|item| item["id"].as_str()).collect();
            let is_of_list =
                |item: &Value| number_of(item).is_some_and(|item| window.has_provider_of(item));
            let is_right = reply.status == 200
                && dates.len() == shown.len()
                && ids.len() == shown.len()
                && dates.is_sorted_by(|a, b| a >= b)
                && dates.iter().all(|date| window.has(*date))
                && shown.iter().all(is_of_list);
            let covered = window.covered(&reply.body);
            let missed: Vec<_> = Self::own(client)
                .filter(|&item| window.has_provider_of(item))
                .filter(|&item| !news.is_in(item, &covered, shown, reply.oldest))
                .map(|item| (item, &news.items[item]))
                .collect();
            let verdict = verdict(is_right && missed.is_empty(), &missed);
            news.pages[client] = window.after(&reply.body);
            verdict
        })
    }

    /// Returns true if an item is shown once where one of its versions is in the range, and is not
    /// shown where none is. The range includes the last item of the page.
    ///
    /// While replicas lag, an item with another date may be missing from both its old and its new list.
    fn is_in(
        &self,
        item: usize,
        covered: &Range<OffsetDateTime>,
        shown: &[Value],
        oldest: Instant,
    ) -> bool {
        let versions = self.items[item].versions(oldest);
        let mut of_item = shown.iter().filter(|shown| number_of(shown) == Some(item));
        match (of_item.next(), of_item.next()) {
            (Some(shown), None) => {
                versions.into_iter().flatten().any(|text| text.is_shown(item, shown))
            }
            (None, _) => {
                let dates: Vec<_> =
                    versions.iter().map(|text| text.map(|text| text.published)).collect();
                dates.iter().any(|date| {
                    *date != dates[0] || date.is_none_or(|date| !covered.contains(&date))
                })
            }
            _ => false,
        }
    }
}
