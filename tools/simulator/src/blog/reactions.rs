//! Comments and likes: the certain, the possible and the impossible ones.

use std::time::Instant;

use http::Method;
use serde_json::json;
use tributary_local::client::Call;

use super::{Blog, Turns, operations, post_path, user_id};
use crate::{
    api::Reply,
    workload::{Operation, Verdict, verdict},
};

/// The known state of a comment or like, and the time of that knowledge.
#[derive(Clone, Debug)]
pub(super) struct Reaction {
    pub(super) post: usize,
    pub(super) user: usize,
    /// The content of a comment; a like has none.
    pub(super) content: Option<String>,
    /// The id of a comment after it was acknowledged; of a like, that of its user.
    pub(super) id: Option<String>,
    pub(super) presence: Presence,
    pub(super) at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Absent,
    Present,
    /// Its command met a creation or deletion of the post.
    Unknown,
}

impl Reaction {
    pub(super) fn is_gone(&mut self) {
        self.presence = Presence::Absent;
        self.at = Some(Instant::now());
    }

    fn path(&self) -> String {
        let kind = if self.content.is_some() { "comments" } else { "likes" };
        let id = self.id.as_deref().unwrap_or("never-acknowledged");
        format!("{}/{kind}/{id}", post_path(self.post))
    }
}

impl Blog {
    pub(super) fn new_comment(&mut self, post: usize, user: usize, number: u64) -> usize {
        self.new_reaction(post, user, Some(operations::comment(number)))
    }

    pub(super) fn like_of(&mut self, post: usize, user: usize) -> usize {
        let known = self.likes.get(&(post, user)).copied();
        known.unwrap_or_else(|| {
            let like = self.new_reaction(post, user, None);
            self.likes.insert((post, user), like);
            like
        })
    }

    fn new_reaction(&mut self, post: usize, user: usize, content: Option<String>) -> usize {
        let id = content.is_none().then(|| user_id(user));
        let presence = Presence::Absent;
        self.reactions.push(Reaction { post, user, content, id, presence, at: None });
        self.reactions.len() - 1
    }

    pub(super) fn put_comment(&mut self, client: usize, number: usize) -> Operation<Self> {
        let Reaction { post, user, content, .. } = &self.reactions[number];
        let turns = self.posts[*post].turns;
        let body = json!({"userId": user_id(*user), "content": content});
        let call = Call::post(format!("{}/comments", post_path(*post)), body);
        Operation::new(call.key(format!("comment-{number}")), move |blog: &mut Self, reply| {
            let is_right = blog.comment_was_put(client, number, turns, reply);
            blog.verdict(is_right, number)
        })
    }

    fn comment_was_put(
        &mut self,
        client: usize,
        number: usize,
        turns: Turns,
        reply: &Reply,
    ) -> bool {
        let allowed = self.creation(number, turns);
        let before = self.learn(number, after_creation(allowed, reply.status == 201));
        let comment = &mut self.reactions[number];
        let was_created = comment.id.is_some();
        match reply.status {
            // The post remembers the key of a deleted comment for a while.
            409 => was_created && (before != Presence::Present || allowed.is_none()),
            404 => allowed != Some(true),
            201 => {
                let id = reply.body["id"].as_str().map(str::to_owned);
                let same_id = !was_created || comment.id == id;
                if comment.id.is_none() {
                    self.comments_of[client].push(number);
                }
                comment.id = id;
                let shown = reply.body["content"].as_str() == comment.content.as_deref();
                allowed != Some(false) && same_id && comment.id.is_some() && shown
            }
            _ => false,
        }
    }

    pub(super) fn like(&mut self, post: usize, user: usize) -> Operation<Self> {
        let turns = self.posts[post].turns;
        let number = self.like_of(post, user);
        let call = Call::new(Method::PUT, self.reactions[number].path());
        Operation::new(call, move |blog: &mut Self, reply| {
            let allowed = blog.creation(number, turns);
            let done = matches!(reply.status, 200 | 201);
            let before = blog.learn(number, after_creation(allowed, done));
            let may_be = allowed != Some(false);
            let is_right = match reply.status {
                404 => allowed != Some(true),
                201 => may_be && (before != Presence::Present || allowed.is_none()),
                200 => {
                    may_be && (before != Presence::Absent || reply.repeated || allowed.is_none())
                }
                _ => false,
            };
            blog.verdict(is_right, number)
        })
    }

    pub(super) fn delete_reaction(&mut self, number: usize) -> Operation<Self> {
        let Reaction { post, .. } = self.reactions[number];
        let turns = self.posts[post].turns;
        let call = Call::delete(self.reactions[number].path());
        Operation::new(call, move |blog: &mut Self, reply| {
            let is_stable = blog.is_stable(post, turns);
            let is_right = match blog.learn(number, Presence::Absent) {
                Presence::Present if is_stable && !reply.repeated => reply.status == 204,
                // If the store's answer to a delete was lost, the blog cannot know that there was no item.
                _ => matches!(reply.status, 204 | 404),
            };
            blog.verdict(is_right, number)
        })
    }

    pub(super) fn get_reaction(&mut self, number: usize) -> Operation<Self> {
        let Reaction { post, .. } = self.reactions[number];
        let turns = self.posts[post].turns;
        let call = Call::get(self.reactions[number].path());
        Operation::new(call, move |blog: &mut Self, reply| {
            let is_stable = blog.is_stable(post, turns);
            let Reaction { presence, at, .. } = blog.reactions[number];
            // It may have been read before it was deleted.
            let may_lag = at.is_some_and(|at| at > reply.oldest);
            let is_right = match (reply.status, presence) {
                (200, Presence::Absent) => may_lag || !is_stable,
                (404, Presence::Present) => !is_stable,
                (status, _) => matches!(status, 200 | 404),
            };
            blog.verdict(is_right, number)
        })
    }

    fn verdict(&self, is_right: bool, number: usize) -> Verdict {
        let reaction = &self.reactions[number];
        verdict(is_right, &(reaction, &self.posts[reaction.post]))
    }

    fn learn(&mut self, number: usize, presence: Presence) -> Presence {
        let reaction = &mut self.reactions[number];
        reaction.at = Some(Instant::now());
        std::mem::replace(&mut reaction.presence, presence)
    }

    /// Returns true if a reaction can be created: `None` if its post was created or deleted meanwhile.
    fn creation(&self, number: usize, turns: Turns) -> Option<bool> {
        let Reaction { post, user, .. } = self.reactions[number];
        if self.name(user).is_none() {
            return Some(false);
        }
        self.is_stable(post, turns).then(|| self.posts[post].text.now().is_some())
    }
}

/// Whatever the answer, a creation or deletion of the post may have come before or after the reaction. The
/// host may also have repeated it after the post was created, and kept the first answer.
fn after_creation(allowed: Option<bool>, done: bool) -> Presence {
    match (allowed, done) {
        (None, _) => Presence::Unknown,
        (_, true) => Presence::Present,
        (_, false) => Presence::Absent,
    }
}
