//! The blog: users, posts, comments and likes.
//!
//! Each client has users and posts of its own, so it knows exactly what they are; but all of them
//! comment on and like the posts of all, so counts, edits and deletes of one post meet each other.
//! Where a reaction meets the deletion of its post either may have been first, and the model allows
//! both.

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
use tributary_tools::Call;

pub use operation::{Operation, Size};
pub use reservation::Reservation;

use crate::{Api, Reply, Workload, oldest};
use operation::user_id;
use posts::{Post, Text, Turns};
use reactions::{Comment, Reaction};
use users::User;

/// The reference model of the blog.
#[derive(Debug)]
pub struct Blog {
    size: Size,
    /// How far a read may be behind.
    behind: Duration,
    /// How many items that no list shows may take a place in the feed.
    poisoned: usize,
    /// Counts beginnings and ends of operations.
    clock: u64,
    users: Vec<User>,
    posts: Vec<Post>,
    comments: Vec<Comment>,
    comments_of: Vec<Vec<usize>>,
    likes: HashMap<(usize, usize), Reaction>,
    /// Who ever wanted a name: a name that nobody else wanted is free.
    wanted: HashMap<String, HashSet<usize>>,
}

/// What an operation found when it began.
#[derive(Debug)]
pub struct Begun {
    clock: u64,
    /// The oldest state that a read may see.
    oldest: Instant,
    turns: Turns,
    deletes: Turns,
    post_id: String,
    /// The other user that had the wanted name, and was not about to change it.
    holder: Option<usize>,
}

impl Blog {
    /// An empty blog, whose reads may be so far behind.
    pub fn new(size: Size, behind: Duration) -> Self {
        Self {
            size,
            behind,
            poisoned: 0,
            clock: 0,
            users: vec![User::default(); size.clients * size.users],
            posts: vec![Post::default(); size.clients * size.posts],
            comments: Vec::new(),
            comments_of: vec![Vec::new(); size.clients],
            likes: HashMap::new(),
            wanted: HashMap::new(),
        }
    }

    /// The same blog in containers with so many poisoned items.
    #[must_use]
    pub fn beside(self, poisoned: usize) -> Self {
        Self { poisoned, ..self }
    }

    /// The id of a post.
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
        let (reaction, post_id) = (Reaction::default(), self.post_id(post));
        self.comments.push(Comment { post, user, content, id: None, post_id, reaction });
        self.comments.len() - 1
    }

    fn own_comment(&self, client: usize, random: &mut Random) -> Option<usize> {
        let own = &self.comments_of[client];
        own.get(random.index(own.len())).copied()
    }

    fn post_of(&self, operation: &Operation) -> Option<usize> {
        match operation {
            Operation::PutUser { .. } | Operation::GetUser { .. } => None,
            Operation::PutPost { post, .. }
            | Operation::DeletePost { post }
            | Operation::GetPost { post }
            | Operation::Like { post, .. }
            | Operation::Unlike { post, .. }
            | Operation::GetLike { post, .. } => Some(*post),
            Operation::PutComment { comment }
            | Operation::DeleteComment { comment }
            | Operation::GetComment { comment } => Some(self.comments[*comment].post),
        }
    }
}

impl Workload for Blog {
    type Operation = Operation;
    type Begun = Begun;

    fn clients(&self) -> usize {
        self.size.clients
    }

    fn next(&mut self, client: usize, random: &mut Random) -> Operation {
        Operation::random(client, self, random)
    }

    fn copies(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("users", "SELECT c.userId AS key, c.id FROM c WHERE IS_DEFINED(c.title)"),
            ("feed", "SELECT c.type AS key, c.id FROM c WHERE IS_DEFINED(c.title)"),
        ]
    }

    fn call(&self, operation: &Operation) -> Call {
        operation.call(self)
    }

    fn begin(&mut self, operation: &Operation) -> Begun {
        self.clock += 1;
        let mut begun = Begun {
            clock: self.clock,
            oldest: oldest(Instant::now(), self.behind),
            turns: Turns::default(),
            deletes: Turns::default(),
            post_id: String::new(),
            holder: None,
        };
        match operation {
            Operation::PutUser { user, name } => {
                let key = name.to_lowercase();
                begun.holder = self.holder(&key, *user);
                self.wanted.entry(key).or_default().insert(*user);
                let user = &mut self.users[*user];
                (user.changed, user.changing) = (self.clock, true);
            }
            Operation::PutPost { post, .. } => {
                let post = &mut self.posts[*post];
                post.turns.begun += u64::from(post.text.is_none());
            }
            Operation::DeletePost { post } => {
                let post = &mut self.posts[*post];
                post.turns.begun += 1;
                post.deletes.begun += 1;
                post.delete_began = self.clock;
            }
            _ => {}
        }
        if let Some(post) = self.post_of(operation) {
            (begun.turns, begun.deletes) = (self.posts[post].turns, self.posts[post].deletes);
            begun.post_id = self.post_id(post);
        }
        begun
    }

    fn was_killed(&mut self, operation: &Operation, times: usize) {
        if let Operation::PutUser { user, .. } = operation {
            self.users[*user].killed += times;
        }
    }

    fn finish(
        &mut self,
        client: usize,
        operation: &Operation,
        begun: &Begun,
        reply: &Reply,
        repeated: bool,
    ) -> bool {
        self.clock += 1;
        match operation {
            Operation::PutUser { user, name } => self.user_put(*user, name, begun, reply, repeated),
            Operation::PutPost { post, author, title, content } => {
                let text = Text {
                    author: *author,
                    title: title.clone(),
                    content: content.clone(),
                    creation_date: reply.body["creationDate"].clone(),
                };
                self.post_put(*post, text, reply, repeated)
            }
            Operation::DeletePost { post } => self.post_deleted(*post, reply, repeated),
            Operation::PutComment { comment } => self.comment_put(client, *comment, begun, reply),
            Operation::Like { post, user } => self.liked(*post, *user, begun, reply, repeated),
            Operation::DeleteComment { .. }
            | Operation::Unlike { .. }
            | Operation::GetComment { .. }
            | Operation::GetLike { .. } => self.reaction_asked(operation, begun, reply, repeated),
            Operation::GetUser { user } => self.user_shown(*user, begun, reply),
            Operation::GetPost { post } => self.post_shown(*post, begun, reply),
        }
    }

    fn known(&self, operation: &Operation) -> String {
        match operation {
            Operation::PutUser { user, .. } | Operation::GetUser { user } => {
                format!("{} {:?}", user_id(*user), self.users[*user])
            }
            Operation::PutComment { comment }
            | Operation::DeleteComment { comment }
            | Operation::GetComment { comment } => {
                let comment = &self.comments[*comment];
                format!("{comment:?} {:?}", self.posts[comment.post])
            }
            Operation::Like { post, user }
            | Operation::Unlike { post, user }
            | Operation::GetLike { post, user } => {
                format!("{:?} {:?}", self.likes.get(&(*post, *user)), self.posts[*post])
            }
            Operation::PutPost { post, .. }
            | Operation::DeletePost { post }
            | Operation::GetPost { post } => format!("{:?}", self.posts[*post]),
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

    /// Whether each answer to the operation is right for a model whose one user was created, and
    /// then renamed a moment ago, and whose one post was liked by it and then deleted.
    fn judged(behind: Duration, operation: &Operation, answers: &[(u16, Value)]) -> Vec<bool> {
        let size = Size { clients: 1, users: 1, posts: 1, reuse_ids: true };
        let mut model = Blog::new(size, behind);
        let mut done = |operation: &Operation, status: u16, body: &Value| {
            let begun = model.begin(operation);
            model.finish(0, operation, &begun, &reply(status, body), false)
        };
        for (name, status) in [("One", 201), ("Two", 200)] {
            let named = Operation::PutUser { user: 0, name: name.to_owned() };
            assert!(done(&named, status, &json!({ "username": name })));
        }
        let (title, content) = ("T".to_owned(), "C".to_owned());
        let post = Operation::PutPost { post: 0, author: 0, title, content };
        assert!(done(&post, 201, &json!({ "title": "T", "content": "C" })));
        assert!(done(&Operation::Like { post: 0, user: 0 }, 201, &Value::Null));
        assert!(done(&Operation::DeletePost { post: 0 }, 204, &Value::Null));
        answers.iter().map(|(status, body)| done(operation, *status, body)).collect()
    }

    #[test]
    fn a_query_may_be_as_far_behind_as_its_replica_and_no_further() {
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
        let user = Operation::GetUser { user: 0 };
        let post = Operation::GetPost { post: 0 };
        let like = Operation::GetLike { post: 0, user: 0 };

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
    fn a_command_may_not_be_behind() {
        let far = Duration::from_mins(1);
        let (title, content) = ("T".to_owned(), "D".to_owned());
        let created = Operation::PutPost { post: 0, author: 0, title, content };
        assert_eq!(judged(far, &created, &[(200, json!({"title": "T", "content": "D"}))]), [false]);
        let unliked = Operation::Unlike { post: 0, user: 0 };
        assert_eq!(judged(far, &unliked, &[(200, Value::Null)]), [false]);
        assert_eq!(judged(far, &Operation::DeletePost { post: 0 }, &[(204, Value::Null)]), [false]);
    }
}
