//! A client: one request after the other, on one connection.

use std::{cell::RefCell, net::SocketAddr, time::Instant};

use http::Method;
use tributary_local::{chaos::Random, client::Call};

use super::{LoadTally, Workload};
use crate::{
    handler::Connection,
    overhead::KINDS,
    world::{POSTS, READERS, comment, like, post},
};

/// The numbers of Q1 to Q6 among the kinds, as often as they are sent.
const QUERIES: [usize; 10] = [0, 0, 1, 1, 1, 1, 2, 3, 4, 5];

pub(super) struct LoadClient {
    connection: Connection,
    workload: Workload,
    random: Random,
    user: String,
    /// The paths of a like and of a comment that the client has added and not removed yet.
    like: Option<String>,
    comment: Option<String>,
}

impl LoadClient {
    pub(super) fn new(
        address: SocketAddr,
        workload: Workload,
        number: usize,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            connection: Connection::new(address)?,
            workload,
            random: Random::stream(1, number as u64),
            user: format!("r{}", number % READERS),
            like: None,
            comment: None,
        })
    }

    /// Sends requests while `go_on` says so of their number, and removes its remaining items.
    pub(super) async fn work(
        mut self,
        go_on: impl Fn(usize) -> bool,
        tally: &RefCell<LoadTally>,
    ) -> anyhow::Result<()> {
        for _ in (0..).take_while(|sent| go_on(*sent)) {
            let call = self.next();
            let begin = Instant::now();
            let reply = self.connection.send(&call, "6f1f0f3a-0000-4000-8000-000000000001").await?;
            tally.borrow_mut().add(begin.elapsed(), &reply);
            // A new item is removed later; a repeated like has no location.
            if let Some(place) = reply.location() {
                let is_comment = call.method == Method::POST;
                let made = if is_comment { &mut self.comment } else { &mut self.like };
                *made = Some(place.to_owned());
            }
        }
        for path in [self.like, self.comment].into_iter().flatten() {
            self.connection.send(&Call::delete(path), "left").await?;
        }
        Ok(())
    }

    fn next(&mut self) -> Call {
        let number = self.random.index(POSTS);
        if self.random.chance(self.workload.commands) {
            return self.command(number);
        }
        let (_, call) = KINDS[QUERIES[self.random.index(QUERIES.len())]];
        call(number)
    }

    fn command(&mut self, number: usize) -> Call {
        match self.random.below(3) {
            0 => post(number, &format!("A title, edited by {}", self.random.below(1_000))),
            1 => self.like.take().map_or_else(|| like(number, &self.user), Call::delete),
            _ => self.comment.take().map_or_else(|| comment(number, &self.user), Call::delete),
        }
    }
}
