//! The blog: users, posts, comments and likes.
//!
//! Each client has users and posts of its own, so it knows their exact state. But all clients comment
//! on and like the posts of all, so counts, edits and deletes of one post meet each other. If a
//! reaction meets the deletion of its post, either may have been first, and the model allows both.

mod check;
mod operation;
mod posts;
mod reactions;
mod reservation;
mod users;

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use anyhow::Result;
use azure_data_cosmos::DatabaseClient;
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tributary_local::chaos::Random;
use tributary_local::client::Call;

pub use operation::{BlogOperation, BlogSize};
pub use reservation::NameReservation;

use crate::{Api, Bystanders, Reply, Workload, oldest};
use operation::user_id;
use posts::{PostState, PostText, Turns};
use reactions::{Comment, ReactionState};
use users::UserState;

/// The reference model of the blog.
#[derive(Debug)]
pub struct Blog {
    size: BlogSize,
    /// The longest lag of a read.
    behind: Duration,
    /// The number of items that no list shows but that may take a slot in the feed.
    poisoned: usize,
    /// A counter of beginnings and ends of operations.
    clock: u64,
    users: Vec<UserState>,
    posts: Vec<PostState>,
    comments: Vec<Comment>,
    comments_of: Vec<Vec<usize>>,
    likes: HashMap<(usize, usize), ReactionState>,
    /// The users that ever wanted a name: a name that no other user wanted is free.
    wanted: HashMap<String, HashSet<usize>>,
}

/// The state at the beginning of an operation.
#[derive(Debug)]
pub struct BlogStart {
    clock: u64,
    /// The oldest state that a read may see.
    oldest: Instant,
    turns: Turns,
    deletes: Turns,
    post_id: String,
    /// The other user that had the wanted name, unless that user was changing it.
    holder: Option<usize>,
}

impl Blog {
    /// Creates an empty blog whose reads lag up to `behind`.
    pub fn new(size: BlogSize, behind: Duration) -> Self {
        Self {
            size,
            behind,
            poisoned: 0,
            clock: 0,
            users: vec![UserState::default(); size.clients * size.users],
            posts: vec![PostState::default(); size.clients * size.posts],
            comments: Vec::new(),
            comments_of: vec![Vec::new(); size.clients],
            likes: HashMap::new(),
            wanted: HashMap::new(),
        }
    }

    /// Returns the same blog in containers with `poisoned` unreadable items.
    #[must_use]
    pub fn beside(self, poisoned: usize) -> Self {
        Self { poisoned, ..self }
    }

    /// Returns the id of a post.
    fn post_id(&self, post: usize) -> String {
        let deleted = if self.size.reuse_ids { 0 } else { self.posts[post].deletes.done };
        format!("p{post}-{deleted}")
    }

    fn post_path(&self, post: usize) -> String {
        format!("/api/posts/{}", self.post_id(post))
    }

    fn like_path(&self, post: usize, user: usize) -> String {
        format!("{}/likes/{}", self.post_path(post), user_id(user))
    }

    fn author(&self, post: usize) -> Option<usize> {
        self.posts[post].text.as_ref().map(|text| text.author)
    }

    fn new_comment(&mut self, post: usize, user: usize, content: String) -> usize {
        let reaction = ReactionState::default();
        let post_id = self.post_id(post);
        self.comments.push(Comment { post, user, content, id: None, post_id, reaction });
        self.comments.len() - 1
    }

    fn own_comment(&self, client: usize, random: &mut Random) -> Option<usize> {
        let own = &self.comments_of[client];
        own.get(random.index(own.len())).copied()
    }

    fn post_of(&self, operation: &BlogOperation) -> Option<usize> {
        match operation {
            BlogOperation::PutUser { .. } | BlogOperation::GetUser { .. } => None,
            BlogOperation::PutPost { post, .. }
            | BlogOperation::DeletePost { post }
            | BlogOperation::GetPost { post }
            | BlogOperation::Like { post, .. }
            | BlogOperation::Unlike { post, .. }
            | BlogOperation::GetLike { post, .. } => Some(*post),
            BlogOperation::PutComment { comment }
            | BlogOperation::DeleteComment { comment }
            | BlogOperation::GetComment { comment } => Some(self.comments[*comment].post),
        }
    }
}

impl Workload for Blog {
    type Operation = BlogOperation;
    type Start = BlogStart;

    fn clients(&self) -> usize {
        self.size.clients
    }

    fn bystanders(&self, count: usize) -> Bystanders {
        operation::bystanders(count)
    }

    fn next(&mut self, client: usize, random: &mut Random) -> BlogOperation {
        BlogOperation::random(client, self, random)
    }

    fn copies(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("users", "SELECT c.userId AS key, c.id FROM c WHERE IS_DEFINED(c.title)"),
            ("feed", "SELECT c.type AS key, c.id FROM c WHERE IS_DEFINED(c.title)"),
        ]
    }

    fn call(&self, operation: &BlogOperation) -> Call {
        operation.call(self)
    }

    fn begin(&mut self, operation: &BlogOperation) -> BlogStart {
        self.clock += 1;
        let mut start = BlogStart {
            clock: self.clock,
            oldest: oldest(Instant::now(), self.behind),
            turns: Turns::default(),
            deletes: Turns::default(),
            post_id: String::new(),
            holder: None,
        };
        match operation {
            BlogOperation::PutUser { user, name } => {
                let key = name.to_lowercase();
                start.holder = self.holder(&key, *user);
                self.wanted.entry(key).or_default().insert(*user);
                let user = &mut self.users[*user];
                (user.changed, user.changing) = (self.clock, true);
            }
            BlogOperation::PutPost { post, .. } => {
                let post = &mut self.posts[*post];
                post.turns.begun += u64::from(post.text.is_none());
            }
            BlogOperation::DeletePost { post } => {
                let post = &mut self.posts[*post];
                post.turns.begun += 1;
                post.deletes.begun += 1;
                post.delete_began = self.clock;
            }
            _ => {}
        }
        if let Some(post) = self.post_of(operation) {
            (start.turns, start.deletes) = (self.posts[post].turns, self.posts[post].deletes);
            start.post_id = self.post_id(post);
        }
        start
    }

    fn was_killed(&mut self, operation: &BlogOperation, times: usize) {
        if let BlogOperation::PutUser { user, .. } = operation {
            self.users[*user].killed += times;
        }
    }

    fn finish(
        &mut self,
        client: usize,
        operation: &BlogOperation,
        start: &BlogStart,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        self.clock += 1;
        match operation {
            BlogOperation::PutUser { user, name } => {
                self.user_put(*user, name, start, reply, repeated)
            }
            BlogOperation::PutPost { post, author, title, content } => {
                let text = PostText {
                    author: *author,
                    title: title.clone(),
                    content: content.clone(),
                    creation_date: reply.body["creationDate"].clone(),
                };
                self.post_put(*post, text, reply, repeated)
            }
            BlogOperation::DeletePost { post } => self.post_deleted(*post, reply, repeated),
            BlogOperation::PutComment { comment } => {
                self.comment_put(client, *comment, start, reply)
            }
            BlogOperation::Like { post, user } => self.liked(*post, *user, start, reply, repeated),
            BlogOperation::DeleteComment { .. }
            | BlogOperation::Unlike { .. }
            | BlogOperation::GetComment { .. }
            | BlogOperation::GetLike { .. } => {
                self.reaction_asked(operation, start, reply, repeated)
            }
            BlogOperation::GetUser { user } => self.user_shown(*user, start, reply),
            BlogOperation::GetPost { post } => self.post_shown(*post, start, reply),
        }
    }

    fn known(&self, operation: &BlogOperation) -> String {
        match operation {
            BlogOperation::PutUser { user, .. } | BlogOperation::GetUser { user } => {
                format!("{} {:?}", user_id(*user), self.users[*user])
            }
            BlogOperation::PutComment { comment }
            | BlogOperation::DeleteComment { comment }
            | BlogOperation::GetComment { comment } => {
                let comment = &self.comments[*comment];
                format!("{comment:?} {:?}", self.posts[comment.post])
            }
            BlogOperation::Like { post, user }
            | BlogOperation::Unlike { post, user }
            | BlogOperation::GetLike { post, user } => {
                format!("{:?} {:?}", self.likes.get(&(*post, *user)), self.posts[*post])
            }
            BlogOperation::PutPost { post, .. }
            | BlogOperation::DeletePost { post }
            | BlogOperation::GetPost { post } => format!("{:?}", self.posts[*post]),
        }
    }

    fn check<'a>(&'a self, api: &'a dyn Api) -> BoxFuture<'a, Vec<String>> {
        check::check(api, self).boxed()
    }

    fn unexplained<'a>(
        &'a self,
        database: &'a DatabaseClient,
        findings: &'a [Value],
    ) -> BoxFuture<'a, Result<Vec<String>>> {
        reservation::unexplained(self, database, findings).boxed()
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};
    use serde_json::json;

    use super::*;

    fn reply(status: u16, body: &Value) -> Reply {
        let status = StatusCode::from_u16(status).unwrap();
        Reply::new(status, &HeaderMap::new(), body.to_string().as_bytes())
    }

    /// Judges each answer to the operation, for a model whose one user was created and then renamed a
    /// moment ago, and liked the one post, which was then deleted.
    fn judged(behind: Duration, operation: &BlogOperation, answers: &[(u16, Value)]) -> Vec<bool> {
        let size = BlogSize { clients: 1, users: 1, posts: 1, reuse_ids: true };
        let mut model = Blog::new(size, behind);
        let mut done = |operation: &BlogOperation, status: u16, body: &Value| {
            let start = model.begin(operation);
            model.finish(0, operation, &start, &reply(status, body), false)
        };
        for (name, status) in [("One", 201), ("Two", 200)] {
            let named = BlogOperation::PutUser { user: 0, name: name.to_owned() };
            assert!(done(&named, status, &json!({ "username": name })));
        }
        let title = "T".to_owned();
        let content = "C".to_owned();
        let post = BlogOperation::PutPost { post: 0, author: 0, title, content };
        assert!(done(&post, 201, &json!({ "title": "T", "content": "C" })));
        assert!(done(&BlogOperation::Like { post: 0, user: 0 }, 201, &Value::Null));
        assert!(done(&BlogOperation::DeletePost { post: 0 }, 204, &Value::Null));
        answers.iter().map(|(status, body)| done(operation, *status, body)).collect()
    }

    #[test]
    fn a_query_may_lag_as_much_as_its_replica_and_no_more() {
        let of_user = [
            (200, json!({ "username": "Two" })),
            (200, json!({ "username": "One" })),
            (404, Value::Null),
            (200, json!({ "username": "Three" })),
        ];
        let of_post = [
            (404, Value::Null),
            (200, json!({ "title": "T", "content": "C" })),
            (200, json!({ "title": "T", "content": "D" })),
        ];
        let of_like = [(404, Value::Null), (200, Value::Null), (204, Value::Null)];
        let user = BlogOperation::GetUser { user: 0 };
        let post = BlogOperation::GetPost { post: 0 };
        let like = BlogOperation::GetLike { post: 0, user: 0 };

        let far = Duration::from_mins(1);
        assert_eq!(judged(far, &user, &of_user), [true, true, false, false]);
        assert_eq!(judged(far, &post, &of_post), [true, true, false]);
        assert_eq!(judged(far, &like, &of_like), [true, true, false]);
        let not = Duration::ZERO;
        assert_eq!(judged(not, &user, &of_user), [true, false, false, false]);
        assert_eq!(judged(not, &post, &of_post), [true, false, false]);
        assert_eq!(judged(not, &like, &of_like), [true, false, false]);
    }

    #[test]
    fn a_command_may_not_lag() {
        let far = Duration::from_mins(1);
        let title = "T".to_owned();
        let content = "D".to_owned();
        let created = BlogOperation::PutPost { post: 0, author: 0, title, content };
        assert_eq!(judged(far, &created, &[(200, json!({"title": "T", "content": "D"}))]), [false]);
        let unliked = BlogOperation::Unlike { post: 0, user: 0 };
        assert_eq!(judged(far, &unliked, &[(200, Value::Null)]), [false]);
        assert_eq!(
            judged(far, &BlogOperation::DeletePost { post: 0 }, &[(204, Value::Null)]),
            [false]
        );
    }
}
