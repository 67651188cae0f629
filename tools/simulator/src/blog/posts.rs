//! Posts: the text of each, and the number of its creations and deletions.

use std::time::Instant;

use serde_json::Value;

use super::{Blog, BlogStart, reactions::Presence};
use crate::{Recent, Reply};

#[derive(Debug, Clone, Default)]
pub(super) struct PostState {
    pub(super) text: Option<PostText>,
    pub(super) former: Recent<Option<PostText>>,
    /// The creations and deletions, begun and done; and the deletions alone.
    pub(super) turns: Turns,
    pub(super) deletes: Turns,
    pub(super) delete_began: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Turns {
    pub(super) begun: u64,
    pub(super) done: u64,
}

#[derive(Debug, Clone)]
pub(super) struct PostText {
    pub(super) author: usize,
    pub(super) title: String,
    pub(super) content: String,
    pub(super) creation_date: Value,
}

impl Blog {
    pub(super) fn post_put(
        &mut self,
        number: usize,
        text: PostText,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        let author_exists = self.users[text.author].name.is_some();
        let post = &mut self.posts[number];
        let shown = reply.body["title"] == text.title && reply.body["content"] == text.content;
        match &post.text {
            Some(before) if before.author != text.author => reply.status == 409,
            Some(before) => {
                let same_date = before.creation_date == text.creation_date;
                post.former.push(post.text.replace(text));
                reply.status == 200 && shown && same_date
            }
            None => {
                post.turns.done += 1;
                if !author_exists {
                    return reply.status == 404;
                }
                post.former.push(post.text.replace(text));
                shown && (reply.status == 201 || (repeated && reply.status == 200))
            }
        }
    }

    pub(super) fn post_deleted(&mut self, number: usize, reply: &Reply, repeated: bool) -> bool {
        let post = &mut self.posts[number];
        post.turns.done += 1;
        post.deletes.done += 1;
        let text = post.text.take();
        let existed = text.is_some();
        post.former.push(text);
        let began = post.delete_began;
        // The state of its comments is unknown without the post.
        let comments = self.comments.iter_mut().filter(|comment| comment.post == number);
        let likes = self.likes.iter_mut().filter(|((post, _), _)| *post == number);
        let reactions = comments.map(|comment| &mut comment.reaction);
        for reaction in reactions.chain(likes.map(|(_, like)| like)) {
            if reaction.known < began {
                reaction.presence = Presence::Absent;
                reaction.at = Some(Instant::now());
            }
        }
        match reply.status {
            204 => existed,
            404 => !existed || repeated,
            _ => false,
        }
    }

    /// Returns true if the answer shows the present state of the post, or a recent one.
    pub(super) fn post_shown(&self, post: usize, start: &BlogStart, reply: &Reply) -> bool {
        let PostState { text, former, .. } = &self.posts[post];
        let shown = |text: &Option<PostText>| match text {
            Some(text) => {
                reply.status == 200
                    && reply.body["title"] == *text.title
                    && reply.body["content"] == *text.content
            }
            None => reply.status == 404,
        };
        let mut former = former.since(start.oldest).filter(|text| text.is_some());
        shown(text) || former.any(shown)
    }

    /// Returns true if the post was neither created nor deleted since the operation began.
    pub(super) fn is_stable(&self, post: usize, start: &BlogStart) -> bool {
        let Turns { begun: started, done } = start.turns;
        started == done && self.posts[post].turns.begun == started
    }
}
