//! The blog: users, posts, comments and likes.
//!
//! Each client has users and posts of its own, so it knows their exact state. But all clients comment
//! on and like the posts of all, so counts, edits and deletes of one post meet each other. If a
//! reaction meets the deletion of its post, either may have been first, and the model allows both.
//!
//! To add an operation: 1. a method that returns its request and the judge of its answer
//! (`operations.rs`, `reactions.rs`); 2. its probability in `next`; 3. its comparison in `check.rs`.

mod check;
mod operations;
mod reactions;
mod reservations;
mod sources;

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use azure_data_cosmos::DatabaseClient;
use serde_json::Value;
use tributary_local::{chaos::Random, client::Call};

use crate::{
    api::{Api, Reply},
    bystanders::Bystanders,
    copies::ManyCopies,
    versions::{Versions, oldest},
    workload::{Operation, Verdict, Workload},
};
use reactions::Reaction;

const CLIENTS: usize = 8;
const USERS: usize = 5;
/// Posts of each client. More than 100 in all let posts fall out of the feed.
const POSTS: usize = 20;
/// Posts that get half of all reactions.
const POPULAR_POSTS: usize = 5;

#[derive(Debug)]
pub(crate) struct Blog {
    max_lag: Duration,
    /// The number of items that no list shows but that may take a slot in the feed.
    poisoned: usize,
    /// A counter of beginnings and ends of commands.
    clock: u64,
    users: Vec<User>,
    posts: Vec<Post>,
    reactions: Vec<Reaction>,
    comments_of: Vec<Vec<usize>>,
    likes: HashMap<(usize, usize), usize>,
    /// The users that ever wanted a name: a name that no other user wanted is free.
    wanted: HashMap<String, HashSet<usize>>,
}

#[derive(Clone, Debug, Default)]
struct User {
    name: Versions<String>,
    /// The time at which the last change of the name began, and true while it is under way.
    changed: u64,
    changing: bool,
    kills: usize,
}

#[derive(Clone, Debug, Default)]
struct Post {
    text: Versions<PostText>,
    /// The creations and deletions, and the deletions alone.
    turns: Turns,
    deletes: Turns,
    delete_began: u64,
}

#[derive(Clone, Debug)]
struct PostText {
    author: usize,
    title: String,
    content: String,
    creation_date: Value,
}

#[derive(Clone, Copy, Debug, Default)]
struct Turns {
    begun: u64,
    done: u64,
}

#[derive(Debug)]
struct Start {
    /// The oldest state that a read may see.
    oldest: Instant,
    turns: Turns,
    deletes: Turns,
}

impl Blog {
    /// Creates an empty blog whose reads lag up to `max_lag`, in containers with `poisoned` unreadable
    /// items.
    pub(crate) fn new(max_lag: Duration, poisoned: usize) -> Self {
        Self {
            max_lag,
            poisoned,
            clock: 0,
            users: vec![User::default(); CLIENTS * USERS],
            posts: vec![Post::default(); CLIENTS * POSTS],
            reactions: Vec::new(),
            comments_of: vec![Vec::new(); CLIENTS],
            likes: HashMap::new(),
            wanted: HashMap::new(),
        }
    }

    fn operation(
        call: Call,
        finish: impl FnOnce(&mut Self, &Reply) -> Verdict + Send + 'static,
    ) -> Operation<Self> {
        Operation::new(call, |blog: &mut Self, reply: &Reply| {
            blog.tick();
            finish(blog, reply)
        })
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn start(&self, post: usize) -> Start {
        let Post { turns, deletes, .. } = self.posts[post];
        Start { oldest: oldest(self.max_lag), turns, deletes }
    }

    /// Returns true if the post was neither created nor deleted since the operation began.
    fn is_stable(&self, post: usize, start: &Start) -> bool {
        let Turns { begun, done } = start.turns;
        begun == done && self.posts[post].turns.begun == begun
    }

    fn author(&self, post: usize) -> Option<usize> {
        self.posts[post].text.now().map(|text| text.author)
    }

    fn name(&self, user: usize) -> Option<&str> {
        self.users[user].name.now().map(String::as_str)
    }
}

impl Workload for Blog {
    const COPIES: &'static [(&'static str, &'static str)] = &[
        ("users", "SELECT c.userId AS key, c.id FROM c WHERE IS_DEFINED(c.title)"),
        ("feed", "SELECT c.type AS key, c.id FROM c WHERE IS_DEFINED(c.title)"),
    ];
    const PROJECTIONS: &'static [&'static str] =
        &["PostCopiesInUsers", "HomeFeed", "UsernamesInPosts", "PostsIntegrity"];

    fn clients(&self) -> usize {
        CLIENTS
    }

    fn bystanders(count: usize) -> Bystanders {
        sources::bystanders(count)
    }

    fn many_copies(count: usize) -> Option<ManyCopies> {
        Some(sources::many_copies(count))
    }

    fn next(&mut self, client: usize, random: &mut Random) -> Operation<Self> {
        let user = client * USERS + random.index(USERS);
        let own = client * POSTS + random.index(POSTS);
        let reacted = if random.chance(0.5) { POPULAR_POSTS } else { CLIENTS * POSTS };
        let post = random.index(reacted);
        let number = random.below(1_000_000);
        let own_comments = &self.comments_of[client];
        let comment = own_comments.get(random.index(own_comments.len())).copied();
        match (random.below(100), comment) {
            (0..8, _) => self.put_user(user, operations::name(random)),
            (8..30, _) => {
                let author = self.author(own).filter(|_| random.chance(0.9)).unwrap_or(user);
                self.put_post(own, author, number)
            }
            (30..35, _) => self.delete_post(own),
            (35..55, _) => {
                let comment = self.new_comment(post, user, number);
                self.put_comment(client, comment)
            }
            (55..72, _) => self.like(post, user),
            (72..78, _) => {
                let like = self.like_of(post, user);
                self.delete_reaction(like)
            }
            (78..81, _) => self.get_user(user),
            (84..87, _) => {
                let like = self.like_of(post, user);
                self.get_reaction(like)
            }
            (87..93, Some(comment)) => self.delete_reaction(comment),
            (93..96, Some(comment)) => self.put_comment(client, comment),
            (96.., Some(comment)) => self.get_reaction(comment),
            _ => self.get_post(own),
        }
    }

    async fn check(&self, api: &Api) -> Vec<String> {
        check::check(api, self).await
    }

    async fn unexplained(
        &self,
        database: &DatabaseClient,
        findings: &[Value],
    ) -> anyhow::Result<Vec<String>> {
        reservations::unexplained(self, database, findings).await
    }
}

fn user_id(user: usize) -> String {
    format!("u{user}")
}

fn user_path(user: usize) -> String {
    format!("/api/users/{}", user_id(user))
}

fn post_id(post: usize) -> String {
    format!("p{post}")
}

fn post_path(post: usize) -> String {
    format!("/api/posts/{}", post_id(post))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_right(blog: &mut Blog, operation: Operation<Blog>, (status, body): (u16, Value)) -> bool {
        (operation.finish)(blog, &Reply { status, body, ..Reply::default() }).is_ok()
    }

    /// Returns a blog whose one user was created and then renamed a moment ago, and liked the one post,
    /// which was then deleted.
    fn blog(max_lag: Duration) -> Blog {
        let mut blog = Blog::new(max_lag, 0);
        for (name, status) in [("One", 201), ("Two", 200)] {
            let named = blog.put_user(0, name.to_owned());
            assert!(is_right(&mut blog, named, (status, json!({ "username": name }))));
        }
        let post = blog.put_post(0, 0, 1);
        assert!(is_right(&mut blog, post, (201, shown_post(1))));
        let like = blog.like(0, 0);
        assert!(is_right(&mut blog, like, (201, Value::Null)));
        let deleted = blog.delete_post(0);
        assert!(is_right(&mut blog, deleted, (204, Value::Null)));
        blog
    }

    fn shown_post(number: u64) -> Value {
        json!({"title": operations::title(number), "content": operations::content(number)})
    }

    type Begin = fn(&mut Blog) -> Operation<Blog>;

    #[test]
    fn a_query_may_lag_as_much_as_its_replica_and_no_more() {
        let user: Begin = |blog| blog.get_user(0);
        let post: Begin = |blog| blog.get_post(0);
        let like: Begin = |blog| {
            let like = blog.like_of(0, 0);
            blog.get_reaction(like)
        };
        // The answer, and whether it is right with a lag and without one.
        for (begin, status, body, lagging, newest) in [
            (user, 200, json!({ "username": "Two" }), true, true),
            (user, 200, json!({ "username": "One" }), true, false),
            (user, 200, json!({ "username": "Three" }), false, false),
            (user, 404, Value::Null, false, false),
            (post, 404, Value::Null, true, true),
            (post, 200, shown_post(1), true, false),
            (post, 200, shown_post(2), false, false),
            (like, 404, Value::Null, true, true),
            (like, 200, Value::Null, true, false),
            (like, 204, Value::Null, false, false),
        ] {
            for (max_lag, right) in [(Duration::from_mins(1), lagging), (Duration::ZERO, newest)] {
                let mut blog = blog(max_lag);
                let operation = begin(&mut blog);
                let judged = is_right(&mut blog, operation, (status, body.clone()));
                assert_eq!(judged, right, "{status} {body} {max_lag:?}");
            }
        }
    }

    #[test]
    fn a_command_may_not_lag() {
        let put: Begin = |blog| blog.put_post(0, 0, 2);
        let unlike: Begin = |blog| {
            let like = blog.like_of(0, 0);
            blog.delete_reaction(like)
        };
        let delete: Begin = |blog| blog.delete_post(0);
        for (begin, status, body) in
            [(put, 200, shown_post(2)), (unlike, 200, Value::Null), (delete, 204, Value::Null)]
        {
            let mut blog = blog(Duration::from_mins(1));
            let operation = begin(&mut blog);
            assert!(!is_right(&mut blog, operation, (status, body)), "{status}");
        }
    }
}
