//! The details of a post: its text, its comments and its likes.

use std::collections::HashSet;

use tributary::blog::model::CommentId;
use tributary_functions::values::Timestamp;
use tributary_local::chaos::Random;

use super::{DataSet, Person, PostPlan, moment, uuid};

/// The seconds from one comment or like of a post to the next, at most.
const MAX_PAUSE_SECONDS: u64 = 60;

/// A comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommentPlan<'a> {
    pub(crate) id: CommentId,
    pub(crate) author: &'a Person,
    pub(crate) content: String,
    pub(crate) created: Timestamp,
}

/// A like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LikePlan<'a> {
    /// The id in models whose likes have one.
    pub(crate) id: String,
    pub(crate) liker: &'a Person,
    pub(crate) created: Timestamp,
}

/// The first number of each kind of detail of a post.
enum Detail {
    Text,
    Comments,
    Likes,
}

impl DataSet {
    /// Returns title and content of a post.
    pub(crate) fn text_of(&self, post: &PostPlan) -> (String, String) {
        let mut random = self.random_for(post, &Detail::Text);
        (self.text.title(&mut random), self.text.content(&mut random))
    }

    /// Returns the comments on a post, oldest first, each at a different time.
    pub(crate) fn comments(&self, post: &PostPlan) -> anyhow::Result<Vec<CommentPlan<'_>>> {
        let mut random = self.random_for(post, &Detail::Comments);
        let mut seconds = post.seconds;
        let comments = (0..post.comments).map(|_| {
            seconds += 1 + random.below(MAX_PAUSE_SECONDS);
            Ok(CommentPlan {
                id: CommentId::parse(uuid(&mut random))?,
                author: &self.users[random.index(self.users.len())],
                content: self.text.content(&mut random),
                created: moment(seconds),
            })
        });
        comments.collect()
    }

    /// Returns the likes of a post, oldest first, each at a different time and of a different user.
    pub(crate) fn likes(&self, post: &PostPlan) -> Vec<LikePlan<'_>> {
        let mut random = self.random_for(post, &Detail::Likes);
        let mut seconds = post.seconds;
        let mut likers = HashSet::new();
        let likes = (0..post.likes).map(|_| {
            seconds += 1 + random.below(MAX_PAUSE_SECONDS);
            // A post has no more likes than there are users, so there is always a further one.
            let liker = loop {
                let liker = random.index(self.users.len());
                if likers.insert(liker) {
                    break &self.users[liker];
                }
            };
            LikePlan { id: uuid(&mut random), liker, created: moment(seconds) }
        });
        likes.collect()
    }

    fn random_for(&self, post: &PostPlan, detail: &Detail) -> Random {
        let mut random = self.random_of(post);
        let [text, comments, likes] = [random.fork(), random.fork(), random.fork()];
        match detail {
            Detail::Text => text,
            Detail::Comments => comments,
            Detail::Likes => likes,
        }
    }
}
