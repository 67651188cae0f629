//! The documents of a batch as changes of a projection's type: of each source only the newest counts.

use std::collections::{HashMap, hash_map::Entry};

use custom_handler::Document;
use futures::{FutureExt, future::BoxFuture};

use super::{
    super::{
        Effect, Projection,
        apply::{ApplyError, caught},
        unreadable,
    },
    rounds::Task,
};
use crate::cosmos::parse_item;

/// A batch as a projection has read it: the newest change of each source, and every document that cannot be read.
pub struct ReadBatch<'a> {
    pub(in crate::projection) tasks: Vec<Task>,
    pub(in crate::projection) changes: Box<dyn NumberedChanges + 'a>,
    pub(super) older: usize,
    pub(super) group: usize,
    pub(super) concurrency: usize,
}

/// The rounds of a batch know no type of change, so that their code is compiled once.
pub(in crate::projection) trait NumberedChanges: Send + Sync {
    fn source(&self, change: usize) -> Option<(String, u64)>;

    /// Applies a change; `again` if the instance of its command has applied it, as a rule.
    fn apply(&self, change: usize, again: bool) -> BoxFuture<'_, Result<Effect, ApplyError>>;

    fn apply_all<'a>(
        &'a self,
        changes: &'a [usize],
    ) -> BoxFuture<'a, Result<Vec<Effect>, ApplyError>>;
}

struct ReadChanges<'a, P: Projection> {
    projection: &'a P,
    changes: Vec<P::Change>,
}

impl<P: Projection> NumberedChanges for ReadChanges<'_, P> {
    fn source(&self, change: usize) -> Option<(String, u64)> {
        P::source(&self.changes[change])
    }

    fn apply(&self, change: usize, again: bool) -> BoxFuture<'_, Result<Effect, ApplyError>> {
        let change = &self.changes[change];
        let applying = if again {
            self.projection.apply_again(change).boxed()
        } else {
            self.projection.apply(change).boxed()
        };
        caught(applying).boxed()
    }

    fn apply_all<'a>(
        &'a self,
        changes: &'a [usize],
    ) -> BoxFuture<'a, Result<Vec<Effect>, ApplyError>> {
        Box::pin(async move {
            let changes: Vec<_> = changes.iter().map(|change| &self.changes[*change]).collect();
            caught(self.projection.apply_all(&changes).boxed()).await
        })
    }
}

struct Newest {
    task: usize,
    change: usize,
    version: u64,
}

pub(in crate::projection) fn read<P: Projection>(
    projection: &P,
    documents: Vec<Document>,
) -> ReadBatch<'_> {
    let mut tasks: Vec<Task> = Vec::with_capacity(documents.len());
    let mut changes: Vec<P::Change> = Vec::with_capacity(documents.len());
    let mut newest: HashMap<String, Newest> = HashMap::new();
    let mut older = 0;
    for document in documents {
        let change: P::Change = match parse_item(document.raw().as_bytes()) {
            Ok(change) => change,
            Err(error) => {
                let container = projection.container().id();
                let defect = unreadable::defect::<P::Change>(&document, &error);
                let reason = format!("not an item of `{container}`: {defect}");
                tasks.push(Task { document, change: Err(reason) });
                continue;
            }
        };
        let Some((source, version)) = P::source(&change) else { continue };
        match newest.entry(source) {
            Entry::Vacant(entry) => {
                entry.insert(Newest { task: tasks.len(), change: changes.len(), version });
                tasks.push(Task { document, change: Ok(changes.len()) });
                changes.push(change);
            }
            Entry::Occupied(mut entry) => {
                older += 1;
                let known = entry.get_mut();
                if version >= known.version {
                    known.version = version;
                    tasks[known.task].document = document;
                    changes[known.change] = change;
                }
            }
        }
    }
    let changes = Box::new(ReadChanges { projection, changes });
    ReadBatch { tasks, changes, older, group: P::GROUP, concurrency: P::CONCURRENCY }
}
