//! Comments and likes: the certain, the possible and the impossible ones.

use std::time::Instant;

use http::Method;
use serde_json::json;
use tributary_local::client::Call;

use super::{Blog, Start, operations, post_path, user_id};
use crate::{
    api::{Reply, delete, post},
    workload::{Operation, Verdict, verdict},
};

#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) post: usize,
    pub(super) user: usize,
    pub(super) content: String,
    /// The id after it was acknowledged.
    pub(super) id: Option<String>,
    pub(super) reaction: Reaction,
}

/// The known state of a comment or like, and the time of that knowledge.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reaction {
    pub(super) presence: Presence,
    pub(super) known: u64,
    at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Presence {
    #[default]
    Absent,
    Present,
    /// Its command met the deletion of the post.
    Unknown,
}

/// A comment or a like of the model.
#[derive(Clone, Copy)]
enum Target {
    Comment(usize),
    Like(usize, usize),
}

impl Reaction {
    /// Notes that the post was deleted, and the reaction with it.
    pub(super) fn is_gone(&mut self) {
        self.presence = Presence::Absent;
        self.at = Some(Instant::now());
    }
}

impl Comment {
    fn path(&self) -> String {
        let id = self.id.as_deref().unwrap_or("never-acknowledged");
        format!("{}/comments/{id}", post_path(self.post))
    }
}

fn like_path(post: usize, user: usize) -> String {
    format!("{}/likes/{}", post_path(post), user_id(user))
}

impl Blog {
    pub(super) fn new_comment(&mut self, post: usize, user: usize, number: u64) -> usize {
        let content = operations::comment(number);
        let reaction = Reaction::default();
        self.comments.push(Comment { post, user, content, id: None, reaction });
        self.comments.len() - 1
    }

    pub(super) fn put_comment(&mut self, client: usize, number: usize) -> Operation<Self> {
        let Comment { post: parent, user, content, .. } = &self.comments[number];
        let start = self.start(*parent);
        let body = json!({"userId": user_id(*user), "content": content});
        let call = post(format!("{}/comments", post_path(*parent)), body);
        Self::operation(call.key(format!("comment-{number}")), move |blog, reply| {
            let is_right = blog.comment_was_put(client, number, &start, reply);
            blog.verdict(is_right, Target::Comment(number))
        })
    }

    fn comment_was_put(
        &mut self,
        client: usize,
        number: usize,
        start: &Start,
        reply: &Reply,
    ) -> bool {
        let comment = &self.comments[number];
        let allowed = self.creation(comment.post, comment.user, start);
        let known = self.after_creation(comment.post, start, reply.status == 201);
        let comment = &mut self.comments[number];
        let before = std::mem::replace(&mut comment.reaction, known).presence;
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
                let shown = reply.body["content"] == comment.content;
                allowed != Some(false) && same_id && comment.id.is_some() && shown
            }
            _ => false,
        }
    }

    pub(super) fn like(&mut self, post: usize, user: usize) -> Operation<Self> {
        let start = self.start(post);
        let call = Call::new(Method::PUT, like_path(post, user));
        Self::operation(call, move |blog, reply| {
            let is_right = blog.was_liked(post, user, &start, reply);
            blog.verdict(is_right, Target::Like(post, user))
        })
    }

    fn was_liked(&mut self, post: usize, user: usize, start: &Start, reply: &Reply) -> bool {
        let allowed = self.creation(post, user, start);
        let done = matches!(reply.status, 200 | 201);
        let mut known = self.after_creation(post, start, done);
        if !done && allowed.is_none() {
            // The host may have repeated it after the post was created, and kept the first answer.
            known.presence = Presence::Unknown;
        }
        let before = self.likes.insert((post, user), known).unwrap_or_default().presence;
        let may_be = allowed != Some(false);
        match reply.status {
            404 => allowed != Some(true),
            201 => may_be && (before != Presence::Present || allowed.is_none()),
            200 => may_be && (before != Presence::Absent || reply.repeated || allowed.is_none()),
            _ => false,
        }
    }

    pub(super) fn delete_comment(&mut self, number: usize) -> Operation<Self> {
        let call = delete(self.comments[number].path());
        self.delete_reaction(call, Target::Comment(number))
    }

    pub(super) fn unlike(&mut self, post: usize, user: usize) -> Operation<Self> {
        self.delete_reaction(delete(like_path(post, user)), Target::Like(post, user))
    }

    fn delete_reaction(&mut self, call: Call, target: Target) -> Operation<Self> {
        let start = self.start(self.post_of(target));
        Self::operation(call, move |blog, reply| {
            let is_stable = blog.is_stable(blog.post_of(target), &start);
            let known = blog.clock;
            let reaction = blog.reaction_mut(target);
            let before = reaction.presence;
            *reaction = Reaction { presence: Presence::Absent, known, at: Some(Instant::now()) };
            let is_right = match before {
                Presence::Present if is_stable && !reply.repeated => reply.status == 204,
                // If the store's answer to a delete was lost, the blog cannot know that there was no item.
                _ => matches!(reply.status, 204 | 404),
            };
            blog.verdict(is_right, target)
        })
    }

    pub(super) fn get_comment(&mut self, number: usize) -> Operation<Self> {
        self.get_reaction(Call::get(self.comments[number].path()), Target::Comment(number))
    }

    pub(super) fn get_like(&mut self, post: usize, user: usize) -> Operation<Self> {
        self.get_reaction(Call::get(like_path(post, user)), Target::Like(post, user))
    }

    fn get_reaction(&mut self, call: Call, target: Target) -> Operation<Self> {
        let start = self.start(self.post_of(target));
        Self::operation(call, move |blog, reply| {
            let is_stable = blog.is_stable(blog.post_of(target), &start);
            let Reaction { presence, at, .. } = *blog.reaction_mut(target);
            // It may have been read before it was deleted.
            let may_lag = at.is_some_and(|at| at > start.oldest);
            let is_right = match (reply.status, presence) {
                (200, Presence::Absent) => may_lag || !is_stable,
                (404, Presence::Present) => !is_stable,
                (status, _) => matches!(status, 200 | 404),
            };
            blog.verdict(is_right, target)
        })
    }

    fn post_of(&self, target: Target) -> usize {
        match target {
            Target::Comment(number) => self.comments[number].post,
            Target::Like(post, _) => post,
        }
    }

    fn reaction_mut(&mut self, target: Target) -> &mut Reaction {
        match target {
            Target::Comment(number) => &mut self.comments[number].reaction,
            Target::Like(post, user) => self.likes.entry((post, user)).or_default(),
        }
    }

    fn verdict(&mut self, is_right: bool, target: Target) -> Verdict {
        let post = self.post_of(target);
        let reaction = *self.reaction_mut(target);
        verdict(is_right, &(reaction, &self.posts[post]))
    }

    /// Returns true if a reaction can be created: `None` if its post was created or deleted meanwhile.
    fn creation(&self, post: usize, user: usize, start: &Start) -> Option<bool> {
        if self.name(user).is_none() {
            return Some(false);
        }
        self.is_stable(post, start).then(|| self.posts[post].text.now().is_some())
    }

    fn after_creation(&self, post: usize, start: &Start, done: bool) -> Reaction {
        let met_a_deletion = self.posts[post].deletes.begun > start.deletes.done;
        let presence = match (done, met_a_deletion) {
            (false, _) => Presence::Absent,
            (true, false) => Presence::Present,
            (true, true) => Presence::Unknown,
        };
        Reaction { presence, known: self.clock, at: Some(Instant::now()) }
    }
}
