//! The operations of a client.

use http::Method;
use serde_json::json;
use tributary_local::chaos::Random;
use tributary_local::client::Call;

use super::Blog;
use crate::Bystanders;

/// The numbers of clients and items.
#[derive(Clone, Copy, Debug)]
pub struct BlogSize {
    /// Clients that work at the same time.
    pub clients: usize,
    /// Users of each client.
    pub users: usize,
    /// Posts of each client. More than 100 in all let posts fall out of the feed.
    pub posts: usize,
    /// True if a post that follows a deleted one gets its id instead of a new one.
    pub reuse_ids: bool,
}

/// The number of names that all users compete for: fewer would only cause conflicts.
const N_NAMES: usize = 120;

/// One operation of a client. Numbers are those of users, posts and comments in the [`Blog`].
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names say it")]
pub enum BlogOperation {
    PutUser { user: usize, name: String },
    PutPost { post: usize, author: usize, title: String, content: String },
    DeletePost { post: usize },
    PutComment { comment: usize },
    DeleteComment { comment: usize },
    Like { post: usize, user: usize },
    Unlike { post: usize, user: usize },
    GetUser { user: usize },
    GetPost { post: usize },
    GetComment { comment: usize },
    GetLike { post: usize, user: usize },
}

impl BlogSize {
    fn own_user(self, client: usize, random: &mut Random) -> usize {
        client * self.users + random.index(self.users)
    }

    fn own_post(self, client: usize, random: &mut Random) -> usize {
        client * self.posts + random.index(self.posts)
    }

    fn any_post(self, random: &mut Random) -> usize {
        let posts = self.clients * self.posts;
        // Half of all reactions go to a few posts.
        let some = if random.chance(0.5) { posts.min(5) } else { posts };
        random.index(some)
    }
}

impl BlogOperation {
    /// Returns the next operation of a client.
    pub(super) fn random(client: usize, model: &mut Blog, random: &mut Random) -> Self {
        let size = model.size;
        let user = size.own_user(client, random);
        let own = size.own_post(client, random);
        let post = size.any_post(random);
        let number = random.below(1_000_000);
        match random.below(100) {
            0..8 => Self::PutUser { user, name: name(random) },
            8..30 => Self::PutPost {
                post: own,
                author: model.author(own).filter(|_| random.chance(0.9)).unwrap_or(user),
                title: title(number),
                content: content(number),
            },
            30..35 => Self::DeletePost { post: own },
            35..55 => Self::PutComment { comment: model.new_comment(post, user, comment(number)) },
            55..72 => Self::Like { post, user },
            72..78 => Self::Unlike { post, user },
            78..81 => Self::GetUser { user },
            81..84 => Self::GetPost { post: own },
            84..87 => Self::GetLike { post, user },
            pick => match model.own_comment(client, random) {
                None => Self::GetPost { post: own },
                Some(comment) if pick < 93 => Self::DeleteComment { comment },
                Some(comment) if pick < 96 => Self::PutComment { comment },
                Some(comment) => Self::GetComment { comment },
            },
        }
    }

    /// Returns the request.
    pub(super) fn call(&self, model: &Blog) -> Call {
        match self {
            Self::PutUser { user, name } => {
                Call::new(Method::PUT, user_path(*user)).json(json!({"username": name}))
            }
            Self::PutPost { post, author, title, content } => {
                let body = json!({"userId": user_id(*author), "title": title, "content": content});
                Call::new(Method::PUT, model.post_path(*post)).json(body)
            }
            Self::DeletePost { post } => Call::new(Method::DELETE, model.post_path(*post)),
            Self::PutComment { comment } => {
                let it = &model.comments[*comment];
                let path = format!("{}/comments", model.post_path(it.post));
                let body = json!({"userId": user_id(it.user), "content": it.content});
                Call::new(Method::POST, path).json(body).key(format!("comment-{comment}"))
            }
            Self::DeleteComment { comment } => {
                Call::new(Method::DELETE, model.comments[*comment].path())
            }
            Self::Like { post, user } => Call::new(Method::PUT, model.like_path(*post, *user)),
            Self::Unlike { post, user } => Call::new(Method::DELETE, model.like_path(*post, *user)),
            Self::GetUser { user } => Call::get(user_path(*user)),
            Self::GetPost { post } => Call::get(model.post_path(*post)),
            Self::GetComment { comment } => Call::get(model.comments[*comment].path()),
            Self::GetLike { post, user } => Call::get(model.like_path(*post, *user)),
        }
    }
}

/// Returns users with posts that no client changes.
pub(super) fn bystanders(count: usize) -> Bystanders {
    let user = |number: usize, id: &str| {
        let path = format!("/api/users/{id}");
        let body = json!({"username": format!("Bystander {number}")});
        (Call::new(Method::PUT, path.clone()).json(body), format!("{path}/posts"))
    };
    let post = |user: &str, id: &str| {
        let body = json!({"userId": user, "title": "A title", "content": "A content"});
        Call::new(Method::PUT, format!("/api/posts/{id}")).json(body)
    };
    Bystanders::new(count, user, post)
}

/// Returns the id of a user.
pub(super) fn user_id(user: usize) -> String {
    format!("u{user}")
}

pub(super) fn user_path(user: usize) -> String {
    format!("/api/users/{}", user_id(user))
}

/// Texts that a Functions host which parses dates rewrites, and two that stop its trigger.
const DATES: [&str; 8] = [
    "2026-11-21T09:25:54.120Z",
    "2026-11-21T09:25:54.000Z",
    "2026-01-02T24:00:00Z",
    "2026-01-02T03:04:05+02:00",
    "/Date(0)/",
    "/Date(1700000000000+0100)/",
    "/Date(500000000000000)/",
    "9999-12-31T24:00:00Z",
];

/// Returns a text that looks like a date for one number in ten.
fn date(number: u64) -> Option<String> {
    let n = usize::try_from(number / 10).unwrap_or(0) % DATES.len();
    number.is_multiple_of(10).then(|| DATES[n].to_owned())
}

/// Returns a name in one of three spellings, of which only one may be reserved at a time.
fn name(random: &mut Random) -> String {
    let number = random.index(N_NAMES);
    let name = date(number as u64).unwrap_or_else(|| format!("Name {number}"));
    match random.below(3) {
        0 => name.to_uppercase(),
        1 => name.to_lowercase(),
        _ => name,
    }
}

/// Returns a title, which looks like a date for one number in ten.
fn title(number: u64) -> String {
    date(number).unwrap_or_else(|| format!("Title {number}"))
}

/// Returns a content, which for some numbers is longer than a summary.
fn content(number: u64) -> String {
    let times = usize::try_from(number % 50).unwrap_or(0) + 1;
    // The offset keeps these apart from the numbers of titles that look like dates.
    date(number + 5).unwrap_or_else(|| format!("{number} ").repeat(times).trim_end().to_owned())
}

fn comment(number: u64) -> String {
    date(number).unwrap_or_else(|| format!("Comment {number}"))
}
