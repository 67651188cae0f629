//! The news: items of a few providers, which crawlers post, edit and move by their dates while time
//! passes, and the migration and the archive take what has become old.
//!
//! Each client has items of its own, which only it posts, so it knows exactly what they are. But all
//! share providers, and so partitions, and all lists. Many items are published so long ago that they
//! reach the age of the migration within the run: the clock of the app runs faster.
//!
//! A handler that is killed may leave a move half made; then the same request is sent again. An item
//! that a batch could not store may have been stored: it may be the former or the new one until its
//! next post.

mod check;
mod items;
mod operation;
mod text;

use std::time::{Duration, Instant};

use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tributary_local::chaos::Random;
use tributary_tools::Call;

pub use operation::{Operation, Size, Window};
pub use text::Text;

use crate::{Api, Clock, Reply, Workload, oldest};
use items::Item;

/// The reference model of the news.
#[derive(Debug)]
pub struct News {
    size: Size,
    /// How far a read may be behind.
    behind: Duration,
    clock: Clock,
    items: Vec<Item>,
    /// The list that each client is in the middle of.
    pages: Vec<Option<Window>>,
    /// The items that the last wrong page does not have as it should.
    missed: Vec<usize>,
    posted: u64,
}

/// What an operation found when it began: the oldest state that a read may see.
#[derive(Debug)]
pub struct Begun(Instant);

impl News {
    /// No items yet, under an app with this clock whose reads may be so far behind.
    pub fn new(size: Size, clock: Clock, behind: Duration) -> Self {
        Self {
            size,
            behind,
            clock,
            items: vec![Item::default(); size.clients * size.items],
            pages: vec![None; size.clients],
            missed: Vec::new(),
            posted: 0,
        }
    }

    /// The items of a client.
    fn own(&self, client: usize) -> std::ops::Range<usize> {
        client * self.size.items..(client + 1) * self.size.items
    }
}

impl Workload for News {
    type Operation = Operation;
    type Begun = Begun;

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

    fn next(&mut self, client: usize, random: &mut Random) -> Operation {
        Operation::random(client, self, random)
    }

    fn begin(&mut self, _: &Operation) -> Begun {
        Begun(oldest(Instant::now(), self.behind))
    }

    fn call(&self, operation: &Operation) -> Call {
        operation.call(self)
    }

    fn finish(
        &mut self,
        client: usize,
        operation: &Operation,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        match operation {
            Operation::Post { item, text } => self.item_posted(*item, text, reply, repeated),
            Operation::Batch { posts } => self.items_posted(posts, reply, repeated),
            Operation::Get { item, .. } => self.item_shown(*item, begun, reply),
            Operation::List { window } => self.page_shown(client, window, begun, reply),
            Operation::Search { item, window } => self.item_found(*item, window, begun, reply),
            Operation::Migrate | Operation::Archive => reply.status == 200,
        }
    }

    fn known(&self, operation: &Operation) -> String {
        match operation {
            Operation::Post { item, .. }
            | Operation::Get { item, .. }
            | Operation::Search { item, .. } => format!("{:?}", self.items[*item]),
            Operation::Batch { posts } => {
                let items: Vec<_> = posts.iter().map(|(item, _)| &self.items[*item]).collect();
                format!("{items:?}")
            }
            Operation::List { .. } => {
                let items: Vec<_> =
                    self.missed.iter().map(|item| (item, &self.items[*item])).collect();
                format!("not as they should be: {items:?}")
            }
            Operation::Migrate | Operation::Archive => String::new(),
        }
    }

    fn check<'a>(&'a self, api: &'a dyn Api) -> BoxFuture<'a, Vec<String>> {
        check::check(api, self).boxed()
    }
}

/// The items of a list.
fn listed(body: &Value) -> &[Value] {
    body["items"].as_array().map_or(&[][..], Vec::as_slice)
}
