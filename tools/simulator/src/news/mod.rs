//! The news: items of a few providers. Crawlers post, edit and move them by their dates while time
//! passes, and the migration and the archive move old ones.
//!
//! Each client has items of its own, which only it posts, so it knows their exact state. But all
//! clients share providers, and so partitions, and all lists. Many items are published so long ago that
//! they reach the age of the migration within the run: the clock of the app runs faster.
//!
//! A killed handler may leave an unfinished move; then the same request is retried. An item that
//! a batch could not store may have been stored: until its next post it may have its former or its new
//! state.

mod check;
mod items;
mod operation;
mod text;

use std::time::{Duration, Instant};

use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tributary_local::chaos::Random;
use tributary_local::client::Call;

pub use operation::{ListWindow, NewsOperation, NewsSize};
pub use text::ItemText;

use crate::{Api, Clock, Reply, Workload, oldest};
use items::ItemState;

/// The reference model of the news.
#[derive(Debug)]
pub struct News {
    size: NewsSize,
    /// The longest lag of a read.
    behind: Duration,
    clock: Clock,
    items: Vec<ItemState>,
    /// The unfinished list of each client.
    pages: Vec<Option<ListWindow>>,
    /// The items that the last wrong page has in an impossible state.
    missed: Vec<usize>,
    posted: u64,
}

/// The state at the beginning of an operation: the oldest one that a read may see.
#[derive(Debug)]
pub struct NewsStart(Instant);

impl News {
    /// Creates a model without items, of an app with this clock, whose reads lag up to `behind`.
    pub fn new(size: NewsSize, clock: Clock, behind: Duration) -> Self {
        Self {
            size,
            behind,
            clock,
            items: vec![ItemState::default(); size.clients * size.items],
            pages: vec![None; size.clients],
            missed: Vec::new(),
            posted: 0,
        }
    }

    /// Returns the items of a client.
    fn own(&self, client: usize) -> std::ops::Range<usize> {
        client * self.size.items..(client + 1) * self.size.items
    }
}

impl Workload for News {
    type Operation = NewsOperation;
    type Start = NewsStart;

    fn clients(&self) -> usize {
        self.size.clients
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let (since, times) = self.clock.parts();
        vec![
            ("Clock__Rate", times.to_string()),
            ("Clock__Since", text::text_of(since)),
            ("News__HighVolumeProviders", text::PROVIDERS[0].to_owned()),
        ]
    }

    fn next(&mut self, client: usize, random: &mut Random) -> NewsOperation {
        NewsOperation::random(client, self, random)
    }

    fn begin(&mut self, _: &NewsOperation) -> NewsStart {
        NewsStart(oldest(Instant::now(), self.behind))
    }

    fn call(&self, operation: &NewsOperation) -> Call {
        operation.call(self)
    }

    fn finish(
        &mut self,
        client: usize,
        operation: &NewsOperation,
        start: &NewsStart,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        match operation {
            NewsOperation::Post { item, text } => self.item_posted(*item, text, reply, repeated),
            NewsOperation::Batch { posts } => self.items_posted(posts, reply, repeated),
            NewsOperation::Get { item, .. } => self.item_shown(*item, start, reply),
            NewsOperation::List { window } => self.page_shown(client, window, start, reply),
            NewsOperation::Search { item, window } => self.item_found(*item, window, start, reply),
            NewsOperation::Migrate | NewsOperation::Archive => reply.status == 200,
        }
    }

    fn known(&self, operation: &NewsOperation) -> String {
        match operation {
            NewsOperation::Post { item, .. }
            | NewsOperation::Get { item, .. }
            | NewsOperation::Search { item, .. } => format!("{:?}", self.items[*item]),
            NewsOperation::Batch { posts } => {
                let items: Vec<_> = posts.iter().map(|(item, _)| &self.items[*item]).collect();
                format!("{items:?}")
            }
            NewsOperation::List { .. } => {
                let items: Vec<_> =
                    self.missed.iter().map(|item| (item, &self.items[*item])).collect();
                format!("in an impossible state: {items:?}")
            }
            NewsOperation::Migrate | NewsOperation::Archive => String::new(),
        }
    }

    fn check<'a>(&'a self, api: &'a dyn Api) -> BoxFuture<'a, Vec<String>> {
        check::check(api, self).boxed()
    }
}

/// Returns the items of a list.
fn listed(body: &Value) -> &[Value] {
    body["items"].as_array().map_or(&[][..], Vec::as_slice)
}
