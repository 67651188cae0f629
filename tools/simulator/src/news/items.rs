//! Items: the possible states of each, and the right answers.

use std::collections::BTreeSet;

use serde_json::Value;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    ListWindow, News, NewsStart, listed,
    text::{ItemText, PROVIDERS},
};
use crate::{Recent, Reply};

#[derive(Clone, Debug, Default)]
pub(super) struct ItemState {
    /// Its state after its last acknowledged post.
    text: Option<ItemText>,
    /// The states that failed batches may have given it since.
    maybe: Vec<ItemText>,
    former: Recent<Option<ItemText>>,
    /// Its path, by the last answer to a post.
    path: Option<String>,
}

impl ItemState {
    /// Returns all versions that a read may show.
    fn versions(&self, start: &NewsStart) -> Vec<Option<&ItemText>> {
        let former = self.former.since(start.0).map(Option::as_ref);
        self.now().into_iter().chain(former).collect()
    }

    /// Returns all versions that it may have.
    pub(super) fn now(&self) -> Vec<Option<&ItemText>> {
        std::iter::once(self.text.as_ref()).chain(self.maybe.iter().map(Some)).collect()
    }

    /// Returns the date of its publication, if that is certain.
    pub(super) fn published(&self) -> Option<OffsetDateTime> {
        let text = self.text.as_ref().filter(|_| self.maybe.is_empty());
        text.map(|text| text.published)
    }

    /// Returns true if its last batch has failed.
    pub(super) fn is_uncertain(&self) -> bool {
        !self.maybe.is_empty()
    }

    pub(super) fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn is(&mut self, text: ItemText) {
        self.maybe.clear();
        self.former.push(self.text.replace(text));
    }
}

impl News {
    pub(super) fn item_posted(
        &mut self,
        number: usize,
        text: &ItemText,
        reply: &Reply,
        again: bool,
    ) -> bool {
        let right = self.was_stored(number, u64::from(reply.status), again)
            && text.is_shown(number, &reply.body);
        let item = &mut self.items[number];
        item.path = path_of(&reply.body);
        item.is(text.clone());
        right
    }

    pub(super) fn items_posted(
        &mut self,
        posts: &[(usize, ItemText)],
        reply: &Reply,
        again: bool,
    ) -> bool {
        let outcomes = listed(&reply.body);
        if reply.status != 200 || outcomes.len() != posts.len() {
            return false;
        }
        let mut succeeded = 0_u64;
        let mut right = true;
        for ((number, text), outcome) in posts.iter().zip(outcomes) {
            let status = outcome["status"].as_u64().unwrap_or(0);
            if matches!(status, 429 | 503) {
                // As for a single post, the outcome is unknown.
                self.items[*number].maybe.push(text.clone());
                continue;
            }
            succeeded += 1;
            right &= self.was_stored(*number, status, again);
            let item = &mut self.items[*number];
            item.path = path_of(outcome);
            right &= item.path.is_some();
            item.is(text.clone());
        }
        right && reply.body["succeeded"] == succeeded
    }

    /// Returns true if this is the right status of a stored item.
    fn was_stored(&self, number: usize, status: u64, again: bool) -> bool {
        let item = &self.items[number];
        match status {
            201 => item.text.is_none(),
            200 => item.text.is_some() || again || item.is_uncertain(),
            _ => false,
        }
    }

    pub(super) fn item_shown(&self, number: usize, start: &NewsStart, reply: &Reply) -> bool {
        let item = &self.items[number];
        match reply.status {
            200 => {
                let mut versions = item.versions(start).into_iter().flatten();
                versions.any(|text| text.is_shown(number, &reply.body))
            }
            // A run may have moved it.
            404 => item.is_uncertain(),
            _ => false,
        }
    }

    pub(super) fn item_found(
        &self,
        number: usize,
        window: &ListWindow,
        start: &NewsStart,
        reply: &Reply,
    ) -> bool {
        reply.status == 200
            && listed(&reply.body).iter().all(|shown| number_of(shown) == Some(number))
            && self.is_in(
                number,
                window.covered(last_of(window, reply)),
                listed(&reply.body),
                start,
            )
    }

    /// Returns true if a page is right: it is sorted, has no duplicate, and has all items of the client
    /// in a possible state. The next page of the list becomes the client's next request.
    pub(super) fn page_shown(
        &mut self,
        client: usize,
        window: &ListWindow,
        start: &NewsStart,
        reply: &Reply,
    ) -> bool {
        let shown = listed(&reply.body);
        let dates: Vec<_> = shown.iter().filter_map(date_of).collect();
        let ids: BTreeSet<_> = shown.iter().filter_map(|item| item["id"].as_str()).collect();
        let mine = window.provider.map(|provider| PROVIDERS[provider]);
        let is_good = reply.status == 200
            && dates.len() == shown.len()
            && ids.len() == shown.len()
            && dates.is_sorted_by(|a, b| a >= b)
            && dates.iter().all(|date| window.has(*date))
            && shown.iter().all(|item| mine.is_none_or(|mine| item["feedProviderId"] == mine));
        let cursor = reply.body["nextCursor"].as_str();
        let last = last_of(window, reply);
        let covered = window.covered(last);
        let missed: Vec<_> = self
            .own(client)
            .filter(|&number| window.provider.is_none_or(|it| it == number % PROVIDERS.len()))
            .filter(|&number| !self.is_in(number, covered.clone(), shown, start))
            .collect();
        self.pages[client] = cursor.zip(last).map(|(cursor, last)| window.after(cursor, last));
        let are_in = missed.is_empty();
        if !are_in {
            self.missed = missed;
        }
        is_good && are_in
    }

    /// Returns true if an item is shown once where one of its versions is in the range, and is not
    /// shown where none is. The range includes the last item of the page.
    ///
    /// While replicas lag, an item with another date may be missing from both its old and its new list.
    fn is_in(
        &self,
        number: usize,
        covered: std::ops::Range<OffsetDateTime>,
        shown: &[Value],
        start: &NewsStart,
    ) -> bool {
        let versions = self.items[number].versions(start);
        let mut of_item = shown.iter().filter(|shown| number_of(shown) == Some(number));
        match (of_item.next(), of_item.next()) {
            (Some(shown), None) => {
                versions.into_iter().flatten().any(|text| text.is_shown(number, shown))
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

/// Returns the number of an item, by its address.
pub(super) fn number_of(shown: &Value) -> Option<usize> {
    shown["sourceUrl"].as_str()?.rsplit('/').next()?.parse().ok()
}

fn path_of(shown: &Value) -> Option<String> {
    let key = shown["partitionKey"].as_str()?;
    let id = shown["id"].as_str()?;
    Some(format!("/api/news/items/{key}/{id}"))
}

fn date_of(shown: &Value) -> Option<OffsetDateTime> {
    OffsetDateTime::parse(shown["publishedDate"].as_str()?, &Rfc3339).ok()
}

/// Returns the date up to which a page that is not the last has all items: that of its last item. A
/// page may be short, and even empty.
fn last_of(window: &ListWindow, reply: &Reply) -> Option<OffsetDateTime> {
    reply.body["nextCursor"].as_str()?;
    let last = listed(&reply.body).iter().filter_map(date_of).next_back();
    Some(last.unwrap_or(window.covered(None).end))
}
