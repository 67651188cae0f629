//! The ten requests of the article, and the users and posts that they are about: chosen at random, and the same
//! for all models.

use tributary_local::chaos::Random;

use super::data::{DataSet, Person, PostPlan, PostText};

/// A request, in the order of the article's tables.
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

/// The entries of the article's lists, by its own figures: without usernames a list of comments costs 20.00
/// request units less and a list of likes 50.00, and a username is one point read of 1. The posts of a user cost
/// 25 times two counts less. The article gives the feed 100 posts.
pub(super) const POSTS_OF_A_USER: u32 = 25;
pub(super) const COMMENTS: u32 = 20;
pub(super) const LIKES: u32 = 50;
pub(super) const FEED: u32 = 100;

impl RequestKind {
    pub(super) const ALL: [Self; 10] = {
        use RequestKind::{C1, C2, C3, C4, Q1, Q2, Q3, Q4, Q5, Q6};
        [C1, Q1, C2, Q2, Q3, C3, Q4, C4, Q5, Q6]
    };

    pub(super) fn is_command(self) -> bool {
        matches!(self, Self::C1 | Self::C2 | Self::C3 | Self::C4)
    }

    pub(super) fn published(self) -> [f64; 3] {
        match self {
            Self::C1 => [5.71, 5.71, 5.71],
            Self::Q1 => [1.0, 1.0, 1.0],
            Self::C2 => [8.76, 8.76, 8.76],
            Self::Q2 => [19.54, 1.0, 1.0],
            Self::Q3 => [619.41, 201.54, 6.46],
            Self::C3 => [8.57, 15.27, 15.27],
            Self::Q4 => [27.72, 7.72, 7.72],
            Self::C4 => [7.05, 14.67, 14.67],
            Self::Q5 => [58.92, 8.92, 8.92],
            Self::Q6 => [2063.54, 532.33, 16.97],
        }
    }
}

/// A request with its subjects. A post or user is named by its id.
pub(super) enum ModelCall {
    CreateUser { username: String },
    GetUser(String),
    CreatePost { author: Person, text: PostText },
    GetPost(String),
    ListUserPosts(String),
    CreateComment { post: String, author: Person, content: String },
    ListComments(String),
    LikePost { post: String, liker: Person },
    ListLikes(String),
    GetFeed,
}

pub(super) struct Calls<'a> {
    kind: RequestKind,
    data: &'a DataSet,
    /// Users that have liked no post yet: they send the commands.
    visitors: &'a [Person],
    random: Random,
    /// Indexes of the users or posts that the request may name, in a random order.
    subjects: Vec<usize>,
    n: usize,
}

impl<'a> Calls<'a> {
    pub(super) fn new(kind: RequestKind, data: &'a DataSet, visitors: &'a [Person]) -> Self {
        let mut random = data.choices(kind as u64);
        let mut subjects = subjects(kind, data);
        random.shuffle(&mut subjects);
        Self { kind, data, visitors, random, subjects, n: 0 }
    }

    /// Returns the number of possible calls: a user likes a post once.
    pub(super) fn most(&self) -> usize {
        match self.kind {
            RequestKind::C4 => self.subjects.len() * self.visitors.len(),
            _ => usize::MAX,
        }
    }

    /// Returns the next call: each visitor in turn, and a user or post for all visitors.
    pub(super) fn next(&mut self) -> ModelCall {
        let n = self.n;
        self.n += 1;
        let visitor = self.visitors[n % self.visitors.len()].clone();
        let subject = self.subjects[n / self.visitors.len() % self.subjects.len()];
        let user = || self.data.users[subject].id.clone();
        let post = || self.data.posts[subject].id.clone();
        match self.kind {
            RequestKind::C1 => ModelCall::CreateUser { username: format!("guest-{n}") },
            RequestKind::Q1 => ModelCall::GetUser(user()),
            RequestKind::C2 => {
                let text = self.data.new_text(&mut self.random);
                ModelCall::CreatePost { author: visitor, text }
            }
            RequestKind::Q2 => ModelCall::GetPost(post()),
            RequestKind::Q3 => ModelCall::ListUserPosts(user()),
            RequestKind::C3 => {
                let content = self.data.new_text(&mut self.random).content;
                ModelCall::CreateComment { post: post(), author: visitor, content }
            }
            RequestKind::Q4 => ModelCall::ListComments(post()),
            RequestKind::C4 => ModelCall::LikePost { post: post(), liker: visitor },
            RequestKind::Q5 => ModelCall::ListLikes(post()),
            RequestKind::Q6 => ModelCall::GetFeed,
        }
    }
}

/// Returns the users or posts that a request may name. The article's figures are those of full lists, so these
/// are the ones with a full list, or all if there are none.
fn subjects(kind: RequestKind, data: &DataSet) -> Vec<usize> {
    let posts_with = |is_full: &dyn Fn(&PostPlan) -> bool| -> Vec<usize> {
        (0..data.posts.len()).filter(|index| is_full(&data.posts[*index])).collect()
    };
    let full = match kind {
        RequestKind::Q3 => {
            let posts_of = |author| data.posts.iter().filter(|post| post.author == author).count();
            let is_full = |author: &usize| posts_of(*author) >= POSTS_OF_A_USER as usize;
            (0..data.n_authors).filter(is_full).collect()
        }
        RequestKind::Q4 => posts_with(&|post| post.comments >= COMMENTS),
        RequestKind::Q5 => posts_with(&|post| post.likes >= LIKES),
        _ => Vec::new(),
    };
    match kind {
        _ if !full.is_empty() => full,
        RequestKind::C1 | RequestKind::Q1 | RequestKind::Q3 => (0..data.n_authors).collect(),
        _ => (0..data.posts.len()).collect(),
    }
}
