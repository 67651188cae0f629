//! Comments, likes and edits of one post that come at the same time, in one transaction: the blog's
//! part of [group commit](crate::cosmos::Combiner).
//!
//! A group reads the post, unless the group before it has just written it, and sends one
//! transaction: each item created or deleted, and the post that counts them all and has the text of
//! an edit, if it is still as it was read. So every operation is counted once or not at all, whoever
//! else writes. An edit that is alone replaces the post, which is cheaper.
//!
//! Why each ends right:
//!
//! - *Another instance, a rename, the audit writes the post meanwhile.* The store refuses the
//!   whole transaction. A post that was remembered is read again, once; one that had just been read is
//!   a lost race, which all members hear, and each of them comes again by itself, after a pause at
//!   random.
//! - *The post is deleted meanwhile.* That is such a write, too. The post is read again, the mark is
//!   found, and all members hear that there is no such post; nothing of the group was written.
//! - *An operation cannot be done*: what it creates is there already, or what it deletes is not, or has
//!   changed. The store names only the first of those. So all members are looked up in one query
//!   (a lone one by a point read), those that cannot be done are told, and the others are sent
//!   again. A post that was remembered is read before, since it may be deleted by now, or know one
//!   of them as carried out by another instance. Should one
//!   more be refused then, another writer is at work: those left hear of a lost race. So an attempt
//!   ends after a few requests, whatever the number of such operations.
//! - *A replica is behind*, so that the post looks older than it is, or is not there. What is written
//!   upon it is refused. A command that is refused for what was read comes again, and then its group
//!   reads the latest committed state ([`confirm`](crate::cosmos::confirm)). What is found to be there
//!   is no refusal: before a group says so, it reads the post in that state itself.
//! - *The answer of the store is lost.* Either the SDK has repeated the transaction, and its own
//!   writes were in the way, which the look finds; or all members hear of it, come again, and
//!   find them then. Both times the member is told that an answer was lost, and recognises its
//!   own item.
//! - *A crash in the middle* leaves the transaction done or not done. No caller has had an answer.
//! - *The host repeats a command*, side by side with the first or after a crash. The transaction that
//!   deletes something leaves the command in the post ([`Recent`](super::model::Recent)), and so does
//!   an edit under a condition. A group that reads the post, or remembers it, answers such a command as
//!   carried out. A like has the command that created it.
//! - *An edit under a condition* is decided upon one state of the post: its caller has compared the
//!   ETag. A group that has another state hands the edit back as a lost race.
//! - *The same user likes and unlikes at once.* Two operations on one item are never in one group, so
//!   they are carried out one after the other, in the order of their coming.
//! - *The transaction is too large, or the partition full.* It is sent in halves, and so on; one that
//!   is alone then is refused, and the others go on.

use std::{collections::HashMap, mem};

use serde::Deserialize;

use super::{
    model::{Change, Post, PostId, PostsItem},
    stores::{PostSlot, post_slot},
};
use crate::{
    cosmos::{
        Combine, Container, ETag, Query, Reads, Reason, Refusal, Scope, StoreError, Stored,
        Transaction,
    },
    http::ApiError,
    values::{CommandId, Timestamp},
};

/// A change of a post, its comments or likes that is to be carried out.
#[derive(Clone)]
pub(super) struct Operation {
    pub(super) change: Change,
    /// The command that asks for it.
    pub(super) command: CommandId,
    /// What is deleted or edited must not have changed since.
    pub(super) etag: Option<ETag>,
    /// The post, when the command has read it anyway.
    pub(super) seen: Option<Stored<Post>>,
    /// What its group is to read.
    pub(super) reads: Reads,
}

impl Operation {
    /// An operation without conditions.
    pub(super) fn new(change: Change, command: &CommandId) -> Self {
        Self { change, command: command.clone(), etag: None, seen: None, reads: Reads::Session }
    }

    /// Returns true if the post has to remember the command, since nothing else tells that it was
    /// carried out. An edit without a condition may be made again.
    fn is_remembered(&self) -> bool {
        let edits = matches!(self.change, Change::Edit(..));
        self.change.deletes() || edits && self.etag.is_some()
    }

    /// Returns true if it can only be carried out on another state of the post.
    fn contradicts(&self, post: &Stored<Post>) -> bool {
        match &self.change {
            Change::Edit(_, text) => {
                text.user_id != post.item.public.user_id
                    || self.etag.as_ref().is_some_and(|etag| *etag != post.etag)
            }
            _ => false,
        }
    }

    /// Whether the store refuses it with this for what stands in its place.
    fn is_refused_by(&self, reason: Reason) -> bool {
        if self.change.creates() {
            reason == Reason::Conflict
        } else {
            self.change.deletes() && matches!(reason, Reason::NotFound | Reason::PreconditionFailed)
        }
    }
}

/// What became of an operation that was not refused for another reason.
pub(super) enum Done {
    /// It was carried out, now or before; the new item's ETag when there is one.
    Written(ETag),
    /// The post was edited, now or before; as it is now.
    Edited(Stored<Post>),
    /// What was to be created is there.
    Exists { item: PostsItem, etag: ETag },
    /// What was to be deleted is not there.
    Missing {
        /// Whether it may be this very operation that has deleted it.
        answer_lost: bool,
    },
}

type Outcome = Result<Done, ApiError>;

/// Carries out groups of operations on the posts of a container.
pub(super) struct PostGroups(pub(super) Container);

impl Combine for PostGroups {
    type Key = PostId;
    type Operation = Operation;
    type Outcome = Outcome;
    type Memory = Option<Stored<Post>>;

    /// With the post itself, as many as a transaction takes.
    const MOST: usize = 99;
    /// A transaction takes 2 MB, of which the post may need a good half. This is an estimate, since
    /// JSON writes some characters longer; what is too large all the same is sent in halves.
    const LARGEST: usize = 1_000_000;

    fn target(operation: &Operation) -> String {
        operation.change.id().into_owned()
    }

    fn size(operation: &Operation) -> usize {
        operation.change.size()
    }

    async fn carry_out(
        &self,
        post_id: &PostId,
        operations: Vec<Operation>,
        remembered: &mut Option<Stored<Post>>,
    ) -> Vec<Outcome> {
        let seen = operations.iter().find_map(|operation| operation.seen.clone());
        let post = remembered.take().or(seen);
        let latest = operations.iter().any(|operation| operation.reads == Reads::Latest);
        let mut group = Group::new(self.0.clone(), post_id, operations);
        if latest {
            group.read_latest();
        }
        match group.settle(post).await {
            Ok(post) => *remembered = post,
            Err(error) => group.fail(&error),
        }
        group.outcomes()
    }
}

/// A group at work.
struct Group<'a> {
    posts: Container,
    /// What reads of `posts` see.
    reads: Reads,
    post_id: &'a PostId,
    operations: Vec<Operation>,
    outcomes: Vec<Option<Outcome>>,
    /// The places of those that have no outcome yet.
    open: Vec<usize>,
    /// Whether the answer to a transaction of this group was lost.
    answer_lost: bool,
}

/// An item that was looked up.
#[derive(Deserialize)]
struct Row {
    id: String,
    etag: String,
    item: PostsItem,
}

impl<'a> Group<'a> {
    fn new(posts: Container, post_id: &'a PostId, operations: Vec<Operation>) -> Self {
        let open = (0..operations.len()).collect();
        let outcomes = operations.iter().map(|_| None).collect();
        let reads = Reads::Session;
        Self { posts, reads, post_id, operations, outcomes, open, answer_lost: false }
    }

    /// Finds an outcome for each operation, or an error for those that are left. Gives the post as it
    /// is now, if that is known.
    ///
    /// It ends: every write that succeeds settles an operation at least. One that is refused for an
    /// operation's sake settles that one, and the second ends the rest. One that is too large halves
    /// the next. And a post that has changed is read again, but for one that was just read.
    async fn settle(
        &mut self,
        mut known: Option<Stored<Post>>,
    ) -> Result<Option<Stored<Post>>, StoreError> {
        let (mut at_once, mut looked) = (self.open.len(), false);
        while !self.open.is_empty() {
            let mut remembered = known.is_some();
            let Some(mut post) = self.post(known.take()).await? else {
                return Ok(None);
            };
            if remembered && self.contradicts(&post) {
                remembered = false;
                let Some(read) = self.post(None).await? else {
                    return Ok(None);
                };
                post = read;
            }
            self.recognise(&post);
            at_once = at_once.min(self.open.len());
            if at_once == 0 {
                return Ok(Some(post));
            }
            let Refusal { operation, error } = match self.write(&post, at_once).await {
                Ok(counting) => {
                    known = Some(counting);
                    continue;
                }
                Err(refusal) => refusal,
            };
            self.answer_lost |= error.answer_lost;
            if remembered {
                // The replica that is asked next may not have heard of what this was refused for.
                self.read_latest();
            }
            let culprit = operation.and_then(|place| self.items(at_once).nth(place));
            let culprit = culprit.filter(|&one| self.operations[one].is_refused_by(error.reason));
            match (culprit, error.reason) {
                (Some(culprit), _) => {
                    // The refusal tells nothing of the post, which may be deleted by now.
                    let mut certain = Some(post).filter(|_| !remembered);
                    if self.reads == Reads::Session && self.creates() {
                        // That something is there is an answer which nobody confirms, and the
                        // replica that showed the post may be behind.
                        self.read_latest();
                        certain = None;
                    }
                    let Some(post) = self.post(certain).await? else {
                        return Ok(None);
                    };
                    self.recognise(&post);
                    if self.open.contains(&culprit) {
                        self.look(culprit, &error).await?;
                    }
                    if mem::replace(&mut looked, true) && !self.open.is_empty() {
                        return Err(StoreError::race(self.answer_lost));
                    }
                    known = Some(post);
                }
                (None, Reason::TooLarge | Reason::PartitionFull) => {
                    if at_once > 1 {
                        at_once = at_once.div_ceil(2);
                    } else {
                        // Alone, it is refused for its own sake; a delete behind it is not.
                        let place = self.open.remove(0);
                        self.outcomes[place] = Some(Err(error.into()));
                    }
                    known = Some(post);
                }
                // Somebody else has written the post since, or deleted it.
                (None, Reason::PreconditionFailed | Reason::NotFound) if remembered => {}
                _ => return Err(error),
            }
        }
        Ok(known)
    }

    /// The post, read if it is not known; where there is none, that is the outcome of all.
    async fn post(
        &mut self,
        known: Option<Stored<Post>>,
    ) -> Result<Option<Stored<Post>>, StoreError> {
        if known.is_some() {
            return Ok(known);
        }
        if let PostSlot::Post(post) = post_slot(&self.posts, self.post_id).await? {
            return Ok(Some(post));
        }
        self.settle_all(|_| Some(Err(ApiError::NotFound("post"))));
        Ok(None)
    }

    /// From now on reads see all that was committed.
    fn read_latest(&mut self) {
        self.reads = Reads::Latest;
        self.posts = self.posts.reading(self.reads);
    }

    /// Returns true if an open operation creates something.
    fn creates(&self) -> bool {
        self.open.iter().any(|&place| self.operations[place].change.creates())
    }

    /// Returns true if an open operation can only be carried out on another state of the post.
    fn contradicts(&self, post: &Stored<Post>) -> bool {
        self.open.iter().any(|&place| self.operations[place].contradicts(post))
    }

    /// Settles what was carried out before, and what was decided upon another state of the post.
    fn recognise(&mut self, post: &Stored<Post>) {
        let answer_lost = self.answer_lost;
        self.settle_all(|(_, operation)| {
            let edits = matches!(operation.change, Change::Edit(..));
            if post.item.recent.knows(&operation.command) {
                return Some(Ok(if edits {
                    Done::Edited(post.clone())
                } else {
                    Done::Written(post.etag.clone())
                }));
            }
            let decided_upon_another = operation.contradicts(post);
            decided_upon_another.then(|| Err(StoreError::race(answer_lost).into()))
        });
    }

    /// The places of the first `at_once` open operations that have an item of their own.
    fn items(&self, at_once: usize) -> impl Iterator<Item = usize> {
        let has_item = |&place: &usize| !matches!(self.operations[place].change, Change::Edit(..));
        self.open[..at_once].iter().copied().filter(has_item)
    }

    /// Carries out the first `at_once` open operations, and gives the post that counts them.
    async fn write(
        &mut self,
        post: &Stored<Post>,
        at_once: usize,
    ) -> Result<Stored<Post>, Refusal> {
        let whole = |error: StoreError| Refusal { operation: None, error };
        let writing = || self.open[..at_once].iter().map(|&place| &self.operations[place]);
        let mut after = post.item.after(writing().map(|operation| &operation.change));
        let remembered = writing().filter(|operation| operation.is_remembered());
        let commands = remembered.map(|operation| operation.command.clone());
        after.recent.remember(commands, Timestamp::now());

        let id = self.post_id.as_str();
        let item = PostsItem::Post(after.clone());
        let items: Vec<usize> = self.items(at_once).collect();
        let (etags, etag) = if items.is_empty() {
            let replaced = self.posts.replace(id, id, &item, &post.etag).await;
            (Vec::new(), replaced.map_err(whole)?)
        } else {
            let mut transaction = Transaction::new(id);
            for Operation { change, etag, .. } in items.iter().map(|&place| &self.operations[place])
            {
                transaction = match change.item(&after) {
                    Some(item) => transaction.create(&item).map_err(whole)?,
                    None => transaction.delete(&change.id(), etag.as_ref()),
                };
            }
            let transaction = transaction.replace(id, &item, &post.etag).map_err(whole)?;
            let mut etags = self.posts.transact(transaction).await?;
            let etag = etags.pop().unwrap_or_else(|| ETag::from(""));
            (etags, etag)
        };
        let post = Stored { item: after, etag };
        let mut etags = etags.into_iter();
        for place in self.open.drain(..at_once) {
            let done = match self.operations[place].change {
                Change::Edit(..) => Done::Edited(post.clone()),
                _ => Done::Written(etags.next().unwrap_or_else(|| ETag::from(""))),
            };
            self.outcomes[place] = Some(Ok(done));
        }
        Ok(post)
    }

    /// Settles the operation that was refused, and all others that would be.
    async fn look(&mut self, culprit: usize, refused: &StoreError) -> Result<(), StoreError> {
        let found = self.found(culprit).await?;
        let answer_lost = self.answer_lost;
        self.settle_all(|(index, operation)| {
            let refused = Some(refused).filter(|_| index == culprit);
            judge(operation, found.get(&*operation.change.id()), refused, answer_lost)
        });
        Ok(())
    }

    /// What stands in the places of all open operations.
    async fn found(
        &self,
        culprit: usize,
    ) -> Result<HashMap<String, Stored<PostsItem>>, StoreError> {
        let partition = self.post_id.as_str();
        let ids: Vec<_> =
            self.items(self.open.len()).map(|place| self.operations[place].change.id()).collect();
        if let [id] = ids.as_slice() {
            // The refusal of a lone delete says it all.
            if !self.operations[culprit].change.creates() {
                return Ok(HashMap::new());
            }
            let item = self.posts.read(partition, id).await?;
            return Ok(item.map(|item| (id.to_string(), item)).into_iter().collect());
        }
        let names: Vec<_> = (0..ids.len()).map(|place| format!("@id{place}")).collect();
        let text = format!(
            "SELECT c.id AS id, c._etag AS etag, c AS item FROM c WHERE c.id IN ({})",
            names.join(", ")
        );
        let mut query = Query::from(text);
        for (name, id) in names.iter().zip(&ids) {
            query = query.with_parameter(name, id)?;
        }
        let most = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let rows: Vec<Row> = self.posts.query(query, Scope::Partition(partition), most).await?;
        let stored = |row: Row| (row.id, Stored { item: row.item, etag: ETag::from(row.etag) });
        Ok(rows.into_iter().map(stored).collect())
    }

    /// Gives outcomes to open operations; those that get none stay open.
    fn settle_all(&mut self, outcome: impl Fn((usize, &Operation)) -> Option<Outcome>) {
        for index in mem::take(&mut self.open) {
            match outcome((index, &self.operations[index])) {
                None => self.open.push(index),
                outcome => self.outcomes[index] = outcome,
            }
        }
    }

    fn fail(&mut self, error: &StoreError) {
        let error = error.after(self.answer_lost);
        self.settle_all(|_| Some(Err(error.clone().into())));
    }

    fn outcomes(self) -> Vec<Outcome> {
        self.outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or(Err(ApiError::Internal)))
            .collect()
    }
}

/// What becomes of an operation, by what stands in its place and by the store's refusal, if it was
/// for its sake; `None` when it can be sent again.
fn judge(
    operation: &Operation,
    found: Option<&Stored<PostsItem>>,
    refused: Option<&StoreError>,
    answer_lost: bool,
) -> Option<Outcome> {
    let (creates, deletes) = (operation.change.creates(), operation.change.deletes());
    match (found, refused) {
        (Some(Stored { item, etag }), _) if creates => {
            Some(Ok(Done::Exists { item: item.clone(), etag: etag.clone() }))
        }
        (_, Some(error)) if deletes && error.reason == Reason::NotFound => {
            Some(Ok(Done::Missing { answer_lost }))
        }
        (None, None) if deletes => Some(Ok(Done::Missing { answer_lost })),
        // What was in its way is gone by now, or what it deletes has changed: to be decided anew.
        (_, Some(error)) => Some(Err(error.after(answer_lost).into())),
        (Some(item), None)
            if deletes && operation.etag.as_ref().is_some_and(|etag| *etag != item.etag) =>
        {
            Some(Err(StoreError::race(answer_lost).into()))
        }
        (_, None) => None,
    }
}
