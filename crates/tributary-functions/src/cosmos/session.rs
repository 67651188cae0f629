//! Sessions of callers: the positions of their writes, which each instance adds to its own.
//!
//! The client of the store keeps a session for its instance, and another instance knows nothing of it. So a
//! request may bring the [`Session`] of its caller. Then each of its reads names, for each physical partition,
//! the later of the two positions: a token that is given to the client replaces the client's own
//! ([`InstanceSession`] therefore keeps a second copy of that).
//!
//! A store without the named position refuses the read (404, sub-status 1002): a replica that is behind, a
//! container that was created anew, a position that no write has had. Then the latest committed state answers. So
//! the caller's session makes reads newer, and never makes one fail.
//!
//! A request may also keep the documents that it writes ([`Captures`]), for eager projections. They go with the
//! positions of the writes: where one is known, the other is.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex},
};

use azure_data_cosmos::options::SessionToken;
use futures::FutureExt;
use serde_json::Error;
use tokio::sync::Mutex as AsyncMutex;

use super::{
    position::{ContainerTag, Position, SessionPosition, partition_of},
    retry::decided,
};
use crate::{lock::lock, telemetry};

/// The most bytes of documents that a request keeps. A request that writes more leaves them to the change feed.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

tokio::task_local! {
    static REQUEST_SESSION: Arc<RequestSession>;
}

/// The positions that a reader has to see, at most one for each physical partition; the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Session(Vec<SessionPosition>);

impl Session {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn positions(&self) -> impl Iterator<Item = &SessionPosition> {
        self.0.iter()
    }

    pub(crate) fn of_container(&self, container: &str) -> impl Iterator<Item = &SessionPosition> {
        let tag = ContainerTag::of(container);
        self.positions().filter(move |position| position.container == tag)
    }

    pub(crate) fn add(&mut self, added: SessionPosition) {
        let same = |known: &&mut SessionPosition| {
            known.container == added.container
                && known.position.partition() == added.position.partition()
        };
        match self.0.iter_mut().find(same) {
            Some(known) => {
                known.position = known.position.later(&added.position);
                known.written = known.written.max(added.written);
                known.unapplied = known.unapplied.max(added.unapplied);
            }
            None => self.0.push(added),
        }
    }

    #[must_use]
    pub(crate) fn and(mut self, older: &Self) -> Self {
        for position in &older.0 {
            self.add(position.clone());
        }
        self
    }

    #[must_use]
    pub(crate) fn applied_in(mut self, container: &str) -> Self {
        let tag = ContainerTag::of(container);
        for position in self.0.iter_mut().filter(|known| known.container == tag) {
            position.unapplied = 0;
        }
        self
    }

    #[must_use]
    pub(crate) fn unapplied(mut self) -> Self {
        for position in &mut self.0 {
            position.unapplied = position.written;
        }
        self
    }
}

/// The containers whose written documents a request keeps. Cloning is cheap.
pub(crate) type Captures = Arc<[&'static str]>;

pub(super) fn current_captures() -> Captures {
    REQUEST_SESSION.try_with(|session| session.captures.clone()).unwrap_or_default()
}

#[derive(Clone)]
pub(crate) struct WrittenDocument {
    pub container: &'static str,
    pub text: Arc<str>,
}

#[derive(Default)]
struct RequestSession {
    given: Session,
    captures: Captures,
    seen: Mutex<SeenPositions>,
}

#[derive(Clone, Default)]
pub(crate) struct SeenPositions {
    written: Session,
    read: Session,
    /// The containers with a write that was refused, or whose answer was lost.
    uncertain: BTreeSet<ContainerTag>,
    documents: Vec<WrittenDocument>,
    applications: Option<EagerApplications>,
}

/// What was applied eagerly of the documents of one group, by projection and source.
#[derive(Clone, Default)]
pub(crate) struct EagerApplications(Arc<Mutex<HashMap<(&'static str, String), AppliedSource>>>);

/// The last version of a source that was applied, and the positions of its copies. Held during an application.
type AppliedSource = Arc<AsyncMutex<Option<(u64, Session)>>>;

impl EagerApplications {
    pub(crate) fn of(&self, function: &'static str, source: &str) -> AppliedSource {
        Arc::clone(lock(&self.0).entry((function, source.to_owned())).or_default())
    }
}

impl SeenPositions {
    /// Returns the positions that a reader after this work has to see.
    pub(crate) fn session(&self) -> Session {
        let nothing_is_written = self.written.is_empty();
        let is_read =
            |read: &SessionPosition| nothing_is_written || self.uncertain.contains(&read.container);
        let reads = self.read.0.iter().filter(|read| is_read(read)).cloned().collect();
        self.written.clone().and(&Session(reads))
    }

    /// Returns all positions as those of copies: a reader has to see them, and waits for nothing there.
    pub(crate) fn of_copies(&self) -> Session {
        let mut session = self.written.clone().and(&self.read);
        for position in &mut session.0 {
            (position.written, position.unapplied) = (0, 0);
        }
        session
    }

    pub(crate) fn documents(&self) -> &[WrittenDocument] {
        &self.documents
    }

    pub(crate) fn knows_all_documents(&self, container: &str) -> bool {
        !self.uncertain.contains(&ContainerTag::of(container))
    }

    pub(super) fn of_group(self) -> Self {
        Self { applications: Some(EagerApplications::default()), ..self }
    }

    pub(crate) fn applications(&self) -> EagerApplications {
        self.applications.clone().unwrap_or_default()
    }

    fn add(&mut self, other: &Self, captures: &Captures) {
        self.applications = other.applications.clone().or(self.applications.take());
        self.written = std::mem::take(&mut self.written).and(&other.written);
        self.read = std::mem::take(&mut self.read).and(&other.read);
        self.uncertain.extend(&other.uncertain);
        let documents =
            other.documents.iter().filter(|document| captures.contains(&document.container));
        self.add_documents(documents.cloned());
    }

    fn add_documents(&mut self, documents: impl Iterator<Item = WrittenDocument>) {
        let mut bytes: usize = self.documents.iter().map(|document| document.text.len()).sum();
        for document in documents {
            bytes += document.text.len();
            if bytes > MAX_DOCUMENT_BYTES {
                self.uncertain.insert(ContainerTag::of(document.container));
            } else {
                self.documents.push(document);
            }
        }
    }

    pub(super) fn note(&self) {
        let note = |session: &Arc<RequestSession>| lock(&session.seen).add(self, &session.captures);
        let _ = REQUEST_SESSION.try_with(note);
    }
}

pub(super) fn capture(
    container: &'static str,
    documents: impl IntoIterator<Item = Result<String, Error>>,
) {
    let _ = REQUEST_SESSION.try_with(|session| {
        if !session.captures.contains(&container) {
            return;
        }
        let mut seen = lock(&session.seen);
        for document in documents {
            match document {
                Ok(text) => {
                    let document = WrittenDocument { container, text: text.into() };
                    seen.add_documents([document].into_iter());
                }
                Err(_) => drop(seen.uncertain.insert(ContainerTag::of(container))),
            }
        }
    });
}

/// Notes that a write has failed, and may have been committed: also one whose answer cannot be read.
pub(super) fn capture_none(container: &'static str) {
    let _ = REQUEST_SESSION.try_with(|session| {
        lock(&session.seen).uncertain.insert(ContainerTag::of(container));
    });
}

pub(crate) async fn in_session<F: Future>(
    given: Session,
    captures: Captures,
    work: F,
) -> (F::Output, SeenPositions) {
    let seen = Mutex::default();
    let session = Arc::new(RequestSession { given, captures, seen });
    let output = REQUEST_SESSION.scope(Arc::clone(&session), work).await;
    let seen = std::mem::take(&mut *lock(&session.seen));
    (output, seen)
}

pub(crate) fn in_no_session<F: Future>(
    captures: Captures,
    work: F,
) -> impl Future<Output = (F::Output, SeenPositions)> {
    let work = decided(false, work).map(|(output, _)| output);
    in_session(Session::default(), captures, work)
}

#[derive(Debug, Default)]
pub(super) struct InstanceSession(Mutex<HashMap<ContainerTag, KnownPositions>>);

type KnownPositions = HashMap<String, Position>;

fn noted(positions: &mut KnownPositions, text: &str) -> Option<Position> {
    let known = positions.get_mut(partition_of(text));
    // Most reads see no new write. To check and merge positions would be five sixths of their work here.
    if let Some(known) = known.as_deref().filter(|known| known.as_ref() == text) {
        return Some(known.clone());
    }
    let position = Position::parse(text)?;
    match known {
        Some(known) => *known = known.later(&position),
        None => drop(positions.insert(position.partition().to_owned(), position.clone())),
    }
    Some(position)
}

impl InstanceSession {
    /// Returns `None` if the caller knows nothing of the container: the client has the instance's own.
    pub(super) fn token(&self, container: &str) -> Option<SessionToken> {
        let given = REQUEST_SESSION
            .try_with(|session| session.given.of_container(container).cloned().collect());
        let mut all = Session(given.unwrap_or_default());
        if all.is_empty() {
            return None;
        }
        let tag = ContainerTag::of(container);
        if let Some(own) = lock(&self.0).get(&tag) {
            for position in own.values() {
                all.add(SessionPosition::written(tag, position.clone()));
            }
        }
        let segments: Vec<&str> = all.positions().map(|known| known.position.as_ref()).collect();
        Some(SessionToken::new(segments.join(",")))
    }

    pub(super) fn lsn(&self, container: &str, partition: &str) -> u64 {
        let known = lock(&self.0);
        let positions = known.get(&ContainerTag::of(container));
        positions.and_then(|known| known.get(partition)).map_or(0, Position::lsn)
    }

    /// The answer of a store that lacks the named position (1002) must not be among them: it repeats
    /// this position, which may be forged.
    pub(super) fn note<'a>(
        &self,
        container: &str,
        operation: &str,
        answers: impl Iterator<Item = (u16, Option<&'a str>)>,
    ) {
        let tag = ContainerTag::of(container);
        let is_write = !(operation.contains("read") || operation.contains("query"));
        let mut seen = SeenPositions::default();
        let mut known = lock(&self.0);
        let known_positions = known.entry(tag).or_default();
        for (status, token) in answers {
            let is_done = (200..300).contains(&status);
            if is_write && !is_done {
                seen.uncertain.insert(tag);
            }
            let target = if is_write && is_done { &mut seen.written } else { &mut seen.read };
            let segments = token.unwrap_or_default().split(',');
            for position in segments.filter_map(|segment| noted(known_positions, segment)) {
                target.add(SessionPosition::written(tag, position));
            }
        }
        drop(known);
        // The change feed has no change for a delete.
        let is_change = !operation.contains("delete");
        for (positions, is_change) in [(&seen.written, is_change), (&seen.read, false)] {
            let positions = positions
                .positions()
                .map(|known| (known.position.partition(), known.position.lsn()));
            telemetry::note_positions(container, is_change, positions);
        }
        seen.note();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_keeps_its_latest_positions_and_a_request_has_those_that_it_saw() {
        let instance = InstanceSession::default();
        let work = async {
            for (operation, token) in [
                ("replace_item", "0:1#7#1=0"),
                ("read_item", "0:1#9#1=0,1:1#4#1=0"),
                ("replace_item", "0:1#5#1=0"),
            ] {
                instance.note("items", operation, [(200, Some(token))].into_iter());
            }
        };
        let work = in_session(Session::default(), Captures::default(), work);
        let ((), seen) = futures::executor::block_on(work);
        assert_eq!(["0", "1"].map(|partition| instance.lsn("items", partition)), [9, 4]);
        let lsns = |session: &Session| -> Vec<u64> {
            session.positions().map(|known| known.position.lsn()).collect()
        };
        assert_eq!((lsns(&seen.written), lsns(&seen.read)), (vec![7], vec![9, 4]));
    }
}
