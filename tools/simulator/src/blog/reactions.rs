//! Comments and likes: which must be there, which may be, and which must not.

use std::time::Instant;

use super::{Begun, Blog, Operation};
use crate::Reply;

#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) post: usize,
    pub(super) user: usize,
    pub(super) content: String,
    /// The id once it was acknowledged, and that of the post that it was made for.
    pub(super) id: Option<String>,
    pub(super) post_id: String,
    pub(super) reaction: Reaction,
}

/// What is known of a comment or like, and when it was found out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reaction {
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
        begun: &Begun,
        reply: &Reply,
    ) -> bool {
        let comment = &self.comments[number];
        let allowed = self.creation(comment.post, comment.user, begun);
        let known = self.after_creation(comment.post, begun, reply.status == 201);
        let comment = &mut self.comments[number];
        let before = std::mem::replace(&mut comment.reaction, known).presence;
        if reply.status == 409 {
            // The post remembers for a while that the comment of this key was deleted.
            let was_created = comment.id.is_some() && comment.post_id == begun.post_id;
            return was_created && (before != Presence::Present || allowed.is_none());
        }
        if reply.status != 201 {
            return reply.status == 404 && allowed != Some(true);
        }
        let id = reply.body["id"].as_str().map(str::to_owned);
        let first = comment.id.is_none() || comment.post_id != begun.post_id;
        let same_id = first || comment.id == id;
        if comment.id.is_none() {
            self.comments_of[client].push(number);
        }
        comment.id = id;
        comment.post_id.clone_from(&begun.post_id);
        let shown = reply.body["content"] == comment.content;
        allowed != Some(false) && same_id && comment.id.is_some() && shown
    }

    pub(super) fn liked(
        &mut self,
        post: usize,
        user: usize,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        let allowed = self.creation(post, user, begun);
        let done = matches!(reply.status, 200 | 201);
        let mut known = self.after_creation(post, begun, done);
        if !done && allowed.is_none() {
            // The host may have sent it again when the post was there, and kept the first answer.
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

    /// A reaction that was deleted or read by the client that it belongs to.
    pub(super) fn reaction_asked(
        &mut self,
        operation: &Operation,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        let deletes =
            matches!(operation, Operation::DeleteComment { .. } | Operation::Unlike { .. });
        let clock = self.clock;
        let Some(post) = self.post_of(operation) else { return false };
        let stable = self.is_stable(post, begun);
        let reaction = match operation {
            Operation::DeleteComment { comment } | Operation::GetComment { comment } => {
                &mut self.comments[*comment].reaction
            }
            Operation::Unlike { post, user } | Operation::GetLike { post, user } => {
                self.likes.entry((*post, *user)).or_default()
            }
            _ => return false,
        };
        let before = reaction.presence;
        if deletes {
            let at = Some(Instant::now());
            *reaction = Reaction { presence: Presence::Absent, known: clock, at };
        } else if reply.status == 200 && reaction.at.is_some_and(|at| at > begun.oldest) {
            // It may have been read before it went.
            return true;
        }
        let (there, repeated) = if deletes { (204, repeated) } else { (200, false) };
        match before {
            Presence::Present if stable && !repeated => reply.status == there,
            Presence::Present | Presence::Unknown => reply.status == there || reply.status == 404,
            // It went while this operation was under way; or, when the store's answer to a delete
            // is lost, the blog cannot know that there was nothing.
            Presence::Absent => {
                reply.status == 404 || ((deletes || !stable) && reply.status == there)
            }
        }
    }

    /// Whether a reaction can be created: `None` when its post was created or deleted meanwhile.
    fn creation(&self, post: usize, user: usize, begun: &Begun) -> Option<bool> {
        if self.users[user].name.is_none() {
            return Some(false);
        }
        self.is_stable(post, begun).then(|| self.posts[post].text.is_some())
    }

    fn after_creation(&self, post: usize, begun: &Begun, done: bool) -> Reaction {
        let met_a_deletion = self.posts[post].deletes.begun > begun.deletes.done;
        let presence = match (done, met_a_deletion) {
            (false, _) => Presence::Absent,
            (true, false) => Presence::Present,
            (true, true) => Presence::Unknown,
        };
        Reaction { presence, known: self.clock, at: Some(Instant::now()) }
    }
}
