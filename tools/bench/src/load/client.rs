//! A client: one request after the other, on one connection.

use std::{
    fmt,
    net::SocketAddr,
    time::{Duration, Instant},
};

use http::Method;
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use crate::{
    handler::Connection,
    world::{POSTS, READERS, USERS, comment, like, post},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Workload {
    /// Queries: 40 % a post (Q2), 20 % a user (Q1), 10 % each of Q3, Q4, Q5 and Q6.
    Reads,
    /// 80 % queries as above and 20 % commands: a post is edited (C2), liked or unliked (C4), commented
    /// on (C3) or the comment deleted. Each addition is removed later, so that the store keeps its
    /// size.
    Mixed,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reads => "reads",
            Self::Mixed => "mixed, 20 % commands",
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct LoadTally {
    pub(super) durations: Vec<Duration>,
    pub(super) charge: f64,
    pub(super) refused: usize,
    pub(super) took: Duration,
    /// The processor time of the handler.
    pub(super) cpu: Duration,
}

impl LoadTally {
    pub(super) fn plus(mut self, other: Self) -> Self {
        self.durations.extend(other.durations);
        self.charge += other.charge;
        self.refused += other.refused;
        self
    }
}

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

    /// Sends requests while `go_on` returns true for their number, and then removes its remaining
    /// items.
    pub(super) async fn work(
        mut self,
        go_on: &impl Fn(usize) -> bool,
    ) -> anyhow::Result<LoadTally> {
        let mut tally = LoadTally::default();
        while go_on(tally.durations.len()) {
            let call = self.next();
            let begin = Instant::now();
            let reply = self.connection.send(&call, "6f1f0f3a-0000-4000-8000-000000000001").await?;
            tally.durations.push(begin.elapsed());
            tally.charge += reply.charge();
            tally.refused += usize::from(!reply.status.is_success());
            // A new item is removed later; a repeated like has no location.
            if let Some(place) = reply.location() {
                let made = if is_comment(&call) { &mut self.comment } else { &mut self.like };
                *made = Some(place.to_owned());
            }
        }
        for path in [self.like.take(), self.comment.take()].into_iter().flatten() {
            self.connection.send(&Call::delete(path), "left").await?;
        }
        Ok(tally)
    }

    fn next(&mut self) -> Call {
        let number = self.random.index(POSTS);
        if self.workload == Workload::Mixed && self.random.chance(0.2) {
            return self.command(number);
        }
        match self.random.below(10) {
            0..=3 => Call::get(format!("/api/posts/p{number}")),
            4..=5 => Call::get(format!("/api/users/u{}", number % USERS)),
            6 => Call::get(format!("/api/users/u{}/posts", number % USERS)),
            7 => Call::get(format!("/api/posts/p{number}/comments")),
            8 => Call::get(format!("/api/posts/p{number}/likes")),
            _ => Call::get("/api/feed"),
        }
    }

    fn command(&mut self, number: usize) -> Call {
        match self.random.below(3) {
            0 => post(number, &format!("A title, edited by {}", self.random.below(1_000))),
            1 => self.like.take().map_or_else(|| like(number, &self.user), Call::delete),
            _ => self.comment.take().map_or_else(|| comment(number, &self.user), Call::delete),
        }
    }
}

fn is_comment(call: &Call) -> bool {
    call.method == Method::POST && call.path.ends_with("/comments")
}
