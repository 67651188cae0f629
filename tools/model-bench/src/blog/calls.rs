//! The users and posts of the requests: chosen at random, and the same for all models.

use anyhow::ensure;
use tributary::blog::model::Username;
use tributary_local::chaos::Random;

use crate::blog::{
    data::{DataSet, Person, PostPlan},
    models::Model,
    request::BlogRequest,
    seed::PAGES,
};

/// Users whose new items are measured: they have liked no post yet.
pub(crate) const VISITORS: usize = 2;

/// A request with its subjects.
pub(crate) enum BlogCall {
    CreateUser(Username),
    GetUser(String),
    CreatePost(Person, (String, String)),
    GetPost(String),
    ListUserPosts(String),
    CreateComment(String, Person, String),
    ListComments(String),
    LikePost(String, Person),
    ListLikes(String),
    Feed,
}

/// A generator of the calls of one kind of request, one after the other.
pub(crate) struct Calls<'a> {
    request: BlogRequest,
    data: &'a DataSet,
    visitors: &'a [Person],
    random: Random,
    /// Indexes of the users or posts that the request may use, in a random order.
    subjects: Vec<usize>,
    n: usize,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(request: BlogRequest, data: &'a DataSet, visitors: &'a [Person]) -> Self {
        let mut random = data.choices(request as u64);
        let mut subjects = subjects(request, data);
        random.shuffle(&mut subjects);
        Self { request, data, visitors, random, subjects, n: 0 }
    }

    pub(crate) fn request(&self) -> BlogRequest {
        self.request
    }

    /// Returns the number of possible calls: a user likes a post once.
    pub(crate) fn most(&self) -> usize {
        match self.request {
            BlogRequest::C4 => self.subjects.len() * self.visitors.len(),
            _ => usize::MAX,
        }
    }

    /// Returns the next call: each visitor in turn, and a user or post for all visitors.
    pub(crate) fn next(&mut self) -> anyhow::Result<BlogCall> {
        let n = self.n;
        self.n += 1;
        ensure!(
            !self.visitors.is_empty() && !self.subjects.is_empty(),
            "there is no user or post for the request"
        );
        let visitor = &self.visitors[n % self.visitors.len()];
        let subject = self.subjects[n / self.visitors.len() % self.subjects.len()];
        let user = || self.data.users[subject].id.to_string();
        let post = || self.data.posts[subject].id.to_string();
        Ok(match self.request {
            BlogRequest::C1 => BlogCall::CreateUser(Username::parse(format!("guest-{n}"))?),
            BlogRequest::Q1 => BlogCall::GetUser(user()),
            BlogRequest::C2 => {
                BlogCall::CreatePost(visitor.clone(), self.data.new_text(&mut self.random))
            }
            BlogRequest::Q2 => BlogCall::GetPost(post()),
            BlogRequest::Q3 => BlogCall::ListUserPosts(user()),
            BlogRequest::C3 => {
                let (_, content) = self.data.new_text(&mut self.random);
                BlogCall::CreateComment(post(), visitor.clone(), content)
            }
            BlogRequest::Q4 => BlogCall::ListComments(post()),
            BlogRequest::C4 => BlogCall::LikePost(post(), visitor.clone()),
            BlogRequest::Q5 => BlogCall::ListLikes(post()),
            BlogRequest::Q6 => BlogCall::Feed,
        })
    }
}

impl BlogCall {
    /// Sends a call to a model.
    pub(crate) async fn ask<M: Model>(&self, model: &M) -> anyhow::Result<()> {
        match self {
            Self::CreateUser(username) => drop(model.create_user(username).await?),
            Self::GetUser(user) => drop(model.get_user(user).await?),
            Self::CreatePost(author, (title, content)) => {
                drop(model.create_post(author, (title, content)).await?);
            }
            Self::GetPost(post) => drop(model.get_post(post).await?),
            Self::ListUserPosts(user) => {
                drop(model.list_user_posts(user, PAGES.posts_of_a_user).await?);
            }
            Self::CreateComment(post, author, content) => {
                model.create_comment(post, author, content).await?;
            }
            Self::ListComments(post) => drop(model.list_comments(post, PAGES.comments).await?),
            Self::LikePost(post, liker) => model.like_post(post, liker).await?,
            Self::ListLikes(post) => drop(model.list_likes(post, PAGES.likes).await?),
            Self::Feed => drop(model.feed(PAGES.feed).await?),
        }
        Ok(())
    }
}

/// Returns the possible subjects of a request. The article's figures are those of full pages, so these
/// are the users or posts with a full list, or all if there are none.
fn subjects(request: BlogRequest, data: &DataSet) -> Vec<usize> {
    let posts_with = |enough: &dyn Fn(&PostPlan) -> bool| -> Vec<usize> {
        (0..data.posts.len()).filter(|index| enough(&data.posts[*index])).collect()
    };
    let full = match request {
        BlogRequest::Q3 => {
            let mut posts_of = vec![0_u32; data.authors().len()];
            data.posts.iter().for_each(|post| posts_of[post.author] += 1);
            let full = |author: &usize| posts_of[*author] >= PAGES.posts_of_a_user;
            (0..posts_of.len()).filter(full).collect()
        }
        BlogRequest::Q4 => posts_with(&|post| post.comments >= PAGES.comments),
        BlogRequest::Q5 => posts_with(&|post| post.likes >= PAGES.likes),
        _ => Vec::new(),
    };
    match request {
        _ if !full.is_empty() => full,
        BlogRequest::C1 | BlogRequest::Q1 | BlogRequest::Q3 => (0..data.authors().len()).collect(),
        _ => (0..data.posts.len()).collect(),
    }
}
