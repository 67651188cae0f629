//! Comments and likes: the certain, the possible and the impossible ones.

use std::time::Instant;

use super::{Blog, BlogOperation, BlogStart};
use crate::Reply;

#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) post: usize,
    pub(super) user: usize,
    pub(super) content: String,
    /// The id after it was acknowledged, and that of the post for which it was created.
    pub(super) id: Option<String>,
    pub(super) post_id: String,
    pub(super) reaction: ReactionState,
}

/// The known state of a comment or like, and the time of that knowledge.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReactionState {
    pub(super) presence: Presence,
    pub(super) known: u64,
    pub(super) at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Presence {
    #[default]
    Absent,
    Present,
    /// Its command met the deletion of the post.
    Unknown,
}

impl Comment {
    pub(super) fn path(&self) -> String {
        let id = self.id.as_deref().unwrap_or("never-acknowledged");
        format!("/api/posts/{}/comments/{id}", self.post_id)
    }
}

impl Blog {
    pub(super) fn comment_put(
        &mut self,
        client: usize,
        number: usize,
        start: &BlogStart,
        reply: &Reply,
    ) -> bool {
        let comment = &self.comments[number];
        let allowed = self.creation(comment.post, comment.user, start);
        let known = self.after_creation(comment.post, start, reply.status == 201);
        let comment = &mut self.comments[number];
        let before = std::mem::replace(&mut comment.reaction, known).presence;
        if reply.status == 409 {
            // The post remembers the key of a deleted comment for a while.
            let was_created = comment.id.is_some() && comment.post_id == start.post_id;
            return was_created && (before != Presence::Present || allowed.is_none());
        }
        if reply.status != 201 {
            return reply.status == 404 && allowed != Some(true);
        }
        let id = reply.body["id"].as_str().map(str::to_owned);
        let first = comment.id.is_none() || comment.post_id != start.post_id;
        let same_id = first || comment.id == id;
        if comment.id.is_none() {
            self.comments_of[client].push(number);
        }
        comment.id = id;
        comment.post_id.clone_from(&start.post_id);
        let shown = reply.body["content"] == comment.content;
        allowed != Some(false) && same_id && comment.id.is_some() && shown
    }

    pub(super) fn liked(
        &mut self,
        post: usize,
        user: usize,
        start: &BlogStart,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        let allowed = self.creation(post, user, start);
        let done = matches!(reply.status, 200 | 201);
        let mut known = self.after_creation(post, start, done);
        if !done && allowed.is_none() {
            // The host may have repeated it after the post was created, and kept the first answer.
            known.presence = Presence::Unknown;
        }
        let before = self.likes.insert((post, user), known).unwrap_or_default().presence;
        match reply.status {
            404 => allowed != Some(true),
            201 => allowed != Some(false) && (before != Presence::Present || allowed.is_none()),
            200 => {
                allowed != Some(false)
                    && (before != Presence::Absent || repeated || allowed.is_none())
            }
            _ => false,
        }
    }

    /// Judges the answer to the delete or read of a client's own reaction.
    pub(super) fn reaction_asked(
        &mut self,
        operation: &BlogOperation,
        start: &BlogStart,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        let deletes =
            matches!(operation, BlogOperation::DeleteComment { .. } | BlogOperation::Unlike { .. });
        let clock = self.clock;
        let Some(post) = self.post_of(operation) else { return false };
        let stable = self.is_stable(post, start);
        let reaction = match operation {
            BlogOperation::DeleteComment { comment } | BlogOperation::GetComment { comment } => {
                &mut self.comments[*comment].reaction
            }
            BlogOperation::Unlike { post, user } | BlogOperation::GetLike { post, user } => {
                self.likes.entry((*post, *user)).or_default()
            }
            _ => return false,
        };
        let before = reaction.presence;
        if deletes {
            let at = Some(Instant::now());
            *reaction = ReactionState { presence: Presence::Absent, known: clock, at };
        } else if reply.status == 200 && reaction.at.is_some_and(|at| at > start.oldest) {
            // It may have been read before it was deleted.
            return true;
        }
        let (there, repeated) = if deletes { (204, repeated) } else { (200, false) };
        match before {
            Presence::Present if stable && !repeated => reply.status == there,
            Presence::Present | Presence::Unknown => reply.status == there || reply.status == 404,
            // It was deleted while this operation was under way; or the store's answer to a delete was
            // lost, and the blog cannot know that there was no item.
            Presence::Absent => {
                reply.status == 404 || ((deletes || !stable) && reply.status == there)
            }
        }
    }

    /// Returns true if a reaction can be created: `None` if its post was created or deleted meanwhile.
    fn creation(&self, post: usize, user: usize, start: &BlogStart) -> Option<bool> {
        if self.users[user].name.is_none() {
            return Some(false);
        }
        self.is_stable(post, start).then(|| self.posts[post].text.is_some())
    }

    fn after_creation(&self, post: usize, start: &BlogStart, done: bool) -> ReactionState {
        let met_a_deletion = self.posts[post].deletes.begun > start.deletes.done;
        let presence = match (done, met_a_deletion) {
            (false, _) => Presence::Absent,
            (true, false) => Presence::Present,
            (true, true) => Presence::Unknown,
        };
        ReactionState { presence, known: self.clock, at: Some(Instant::now()) }
    }
}
