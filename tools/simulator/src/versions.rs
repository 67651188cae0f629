//! The versions of an item that a read may show: the newest one, and those that a replica that lags
//! still has.

use std::{collections::VecDeque, time::Instant};

use crate::api::Reply;

/// More versions than an item has in the time that a read may lag.
const MAX_VERSIONS: usize = 50;

#[derive(Clone, Debug)]
pub(crate) struct Versions<T> {
    now: Option<T>,
    /// The versions before, each with the end of its time.
    former: VecDeque<(Instant, Option<T>)>,
    /// True if the item may exist although no creation was acknowledged.
    has_begun: bool,
}

impl<T> Default for Versions<T> {
    fn default() -> Self {
        Self { now: None, former: VecDeque::new(), has_begun: false }
    }
}

impl<T> Versions<T> {
    pub(crate) fn now(&self) -> Option<&T> {
        self.now.as_ref()
    }

    /// Returns the versions that were the newest one at some time after `oldest`.
    pub(crate) fn since(&self, oldest: Instant) -> impl Iterator<Item = Option<&T>> {
        let former = self.former.iter().filter(move |(until, _)| *until > oldest);
        std::iter::once(self.now()).chain(former.map(|(_, version)| version.as_ref()))
    }

    /// Notes that a command may create the item from now on.
    pub(crate) fn begin(&mut self) {
        self.has_begun = true;
    }

    /// Returns true if the item exists; `None` if that is unknown. It holds for items that are never
    /// deleted.
    pub(crate) fn exists(&self) -> Option<bool> {
        match (&self.now, self.has_begun) {
            (Some(_), _) => Some(true),
            (None, true) => None,
            (None, false) => Some(false),
        }
    }

    pub(crate) fn replace(&mut self, version: Option<T>) {
        if self.former.len() == MAX_VERSIONS {
            self.former.pop_front();
        }
        self.former.push_back((Instant::now(), std::mem::replace(&mut self.now, version)));
    }

    pub(crate) fn was_put(&mut self, version: T, reply: &Reply) -> bool {
        let is_new = self.now.is_none();
        self.replace(Some(version));
        match reply.status {
            201 => is_new,
            200 => !is_new || reply.repeated,
            _ => false,
        }
    }

    pub(crate) fn was_deleted(&mut self, reply: &Reply) -> bool {
        let existed = self.now.is_some();
        self.replace(None);
        match reply.status {
            204 => existed,
            404 => !existed || reply.repeated,
            _ => false,
        }
    }

    /// Returns true if the answer shows the newest version, or one that a replica still had. The app
    /// confirms a 404 with the newest state, so a 404 may not lag.
    pub(crate) fn is_shown(&self, reply: &Reply, is_version: impl Fn(&T) -> bool) -> bool {
        match reply.status {
            404 => self.now.is_none(),
            200 => self.since(reply.oldest).flatten().any(is_version),
            _ => false,
        }
    }
}
