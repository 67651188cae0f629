//! A caller sees its own writes: at other instances, behind stale replicas, in copies that come late.

use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tributary_functions::http::CONSISTENCY_TOKEN;
use tributary_local::{
    cosmos::FrozenReplica,
    host::{Console, FeedOptions},
};

use crate::{Answer, AppUnderTest, World};

/// A caller that goes to another instance with each request. Its reads meet replicas that lack all of its
/// writes, and the triggers run in an instance of their own.
pub struct OwnWrites<A> {
    world: World<A>,
    token: String,
    stop: CancellationToken,
    _triggers: JoinSet<()>,
    _frozen: Vec<FrozenReplica>,
}

impl<A> Drop for OwnWrites<A> {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl<A: AppUnderTest> OwnWrites<A> {
    /// Starts the triggers, which look for changes in intervals of `delay`, and freezes replicas of these
    /// containers.
    pub async fn of(world: &World<A>, delay: Duration, stale: &[&str]) -> Self {
        let stop = CancellationToken::new();
        let options = FeedOptions {
            poll_delay: Some(delay),
            console: Console::silent(),
            ..FeedOptions::default()
        };
        let mut triggers = JoinSet::new();
        for pump in world.second_instance().await.pumps(&options) {
            // A partition without a lease has copies that are behind.
            pump.drain().await.unwrap();
            let stop = stop.clone();
            triggers.spawn(async move { pump.run(stop).await });
        }
        let frozen = stale.iter().map(|container| world.stale_reads(container)).collect();
        let world = world.clone();
        Self { world, token: String::new(), stop, _triggers: triggers, _frozen: frozen }
    }

    /// Sends a command with the token of the commands before, and keeps its own.
    pub async fn write(&mut self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let answer = self.send(method, path, body).await;
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.text);
        answer.header(CONSISTENCY_TOKEN.as_str()).clone_into(&mut self.token);
        assert!(!self.token.is_empty(), "{method} {path} has no token");
        answer
    }

    /// Checks that an answer shows what `shows` looks for, within 10 seconds.
    pub async fn read(&self, path: &str, shows: impl Fn(&Value) -> bool) {
        let answer = self.send("GET", path, None).await.expect(200);
        assert_eq!(answer.header("copies-behind"), "", "{path}");
        assert!(shows(&answer.json()), "{path}: {}", answer.text);
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let token = CONSISTENCY_TOKEN;
        let headers = [("prefer", "wait=10"), (token.as_str(), self.token.as_str())];
        let headers = if self.token.is_empty() { &headers[..1] } else { &headers };
        self.world.second_instance().await.call(method, path, headers, body).await
    }
}
