//! The ten requests of the article, and the users and posts that they are about: chosen at random, and the same
//! for all models.

use super::data::{DataSet, Person, PostText, new_id};

/// A request, in the order of the article's tables: of a user, a post, the posts of a user, comments, likes, the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequestKind {
    C1,
    Q1,
    C2,
    Q2,
    Q3,
    C3,
    Q4,
    C4,
    Q5,
    Q6,
}

use RequestKind::{C1, C2, C3, C4, Q1, Q2, Q3, Q4, Q5, Q6};

/// The entries of the article's lists, by its own figures: without usernames a list of comments costs 20.00
/// request units less and a list of likes 50.00, and a username is one point read of 1. The posts of a user cost
/// 25 times two counts less. The article gives the feed 100 posts.
pub(super) const POSTS_OF_A_USER: u32 = 25;
pub(super) const COMMENTS: u32 = 20;
pub(super) const LIKES: u32 = 50;
pub(super) const FEED: u32 = 100;

impl RequestKind {
    pub(super) const ALL: [Self; 10] = [Q1, Q2, Q3, Q4, Q5, Q6, C1, C2, C3, C4];

    pub(super) fn is_command(self) -> bool {
        matches!(self, C1 | C2 | C3 | C4)
    }

    pub(super) fn published(self) -> [f64; 3] {
        match self {
            C1 => [5.71, 5.71, 5.71],
            Q1 => [1.0, 1.0, 1.0],
            C2 => [8.76, 8.76, 8.76],
            Q2 => [19.54, 1.0, 1.0],
            Q3 => [619.41, 201.54, 6.46],
            C3 => [8.57, 15.27, 15.27],
            Q4 => [27.72, 7.72, 7.72],
            C4 => [7.05, 14.67, 14.67],
            Q5 => [58.92, 8.92, 8.92],
            Q6 => [2063.54, 532.33, 16.97],
        }
    }
}

/// A request with its subjects, of which each kind uses its own.
pub(super) struct ModelCall {
    pub(super) kind: RequestKind,
    /// The user that a query names, that C1 creates, or that sends another command.
    pub(super) user: Person,
    pub(super) post: String,
    /// The text of a new post; its content is that of a new comment.
    pub(super) text: PostText,
}

/// Each visitor in turn. They have liked no post yet, and each likes a post once.
pub(super) fn calls(
    kind: RequestKind,
    data: &DataSet,
    visitors: &[Person],
) -> impl Iterator<Item = ModelCall> {
    let mut random = DataSet::choices(kind as u64);
    let mut subjects = subjects(kind, data);
    random.shuffle(&mut subjects);
    let n_calls = if kind == C4 { subjects.len() * visitors.len() } else { usize::MAX };
    (0..n_calls).map(move |n| {
        let subject = subjects[n / visitors.len() % subjects.len()];
        let user = match kind {
            C1 => Person { id: new_id(), username: format!("guest-{n}") },
            Q1 | Q3 => data.users[subject].clone(),
            _ => visitors[n % visitors.len()].clone(),
        };
        let post = data.posts[subject % data.posts.len()][0]["id"].as_str();
        let post = post.unwrap_or_default().to_owned();
        ModelCall { kind, user, post, text: PostText::new(&mut random) }
    })
}

/// The article's figures are those of full lists, so these have a full list, or are all if none has.
fn subjects(kind: RequestKind, data: &DataSet) -> Vec<usize> {
    let posts_with = |name: &str, most: u32| -> Vec<usize> {
        let is_full = |post: &usize| data.posts[*post][0][name].as_u64() >= Some(most.into());
        (0..data.posts.len()).filter(is_full).collect()
    };
    let full = match kind {
        Q3 => {
            let of = |user: usize| {
                data.posts.iter().filter(|post| post[0]["userId"] == data.users[user].id).count()
            };
            (0..data.n_authors).filter(|user| of(*user) >= POSTS_OF_A_USER as usize).collect()
        }
        Q4 => posts_with("commentCount", COMMENTS),
        Q5 => posts_with("likeCount", LIKES),
        _ => Vec::new(),
    };
    match kind {
        _ if !full.is_empty() => full,
        C1 | Q1 | Q3 => (0..data.n_authors).collect(),
        _ => (0..data.posts.len()).collect(),
    }
}
