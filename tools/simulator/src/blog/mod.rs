//! The blog: users, posts, comments and likes.
//!
//! Each client has users and posts of its own, so it knows their exact state. But all clients comment on and like the
//! posts of all, so counts, edits and deletes of one post meet each other. If a reaction meets the deletion of its post,
//! either may have been first, and the model allows both.
//!
//! To add an operation, here as in the other domains: 1. a method that returns its request and the judge of its answer;
//! 2. its probability in `next`; 3. its comparison in `check.rs`.

mod check;
mod operations;
mod reactions;
mod sources;

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use tributary_local::chaos::Random;

use crate::{
    api::Comparison,
    copies::ManyCopies,
    versions::Versions,
    workload::{CLIENTS, Operation, Workload},
};
use reactions::Reaction;

const USERS: usize = 5;
/// Posts of each client. More than 100 in all let posts fall out of the feed.
const POSTS: usize = 20;
/// Posts that get half of all reactions.
const POPULAR_POSTS: usize = 5;

#[derive(Debug)]
pub(crate) struct Blog {
    poisoned: usize,
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
    turns: Turns,
}

#[derive(Clone, Debug, Default)]
struct Post {
    text: Versions<PostText>,
    turns: Turns,
}

#[derive(Clone, Debug)]
struct PostText {
    author: usize,
    title: String,
    content: String,
    creation_date: Value,
}

/// The number of beginnings and ends of changes, of which one at a time is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turns(u64);

impl Turns {
    fn is_under_way(self) -> bool {
        !self.0.is_multiple_of(2)
    }
}

impl Blog {
    pub(crate) fn new(poisoned: usize) -> Self {
        Self {
            poisoned,
            users: vec![User::default(); CLIENTS * USERS],
            posts: vec![Post::default(); CLIENTS * POSTS],
            reactions: Vec::new(),
            comments_of: vec![Vec::new(); CLIENTS],
            likes: HashMap::new(),
            wanted: HashMap::new(),
        }
    }

    /// Returns true if the post was neither created nor deleted since it had these turns.
    fn is_stable(&self, post: usize, turns: Turns) -> bool {
        !turns.is_under_way() && self.posts[post].turns == turns
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
            (78..81, _) => Self::get_user(user),
            (84..87, _) => {
                let like = self.like_of(post, user);
                self.get_reaction(like)
            }
            (87..93, Some(comment)) => self.delete_reaction(comment),
            (93..96, Some(comment)) => self.put_comment(client, comment),
            (96.., Some(comment)) => self.get_reaction(comment),
            _ => Self::get_post(own),
        }
    }

    async fn check(&self, it: &mut Comparison<'_>) {
        self.check_users(it).await;
        let posts = self.check_posts(it).await;
        self.check_copies(it, &posts).await;
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
