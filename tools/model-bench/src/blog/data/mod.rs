//! The seed article's data set: 5 to 50 posts a user, up to 25 comments and up to 100 likes a post. The
//! same seed always gives the same data; comments, likes and texts are generated on demand.
//!
//! A user likes a post once, so there are at least 100 users: if fewer write posts, the others only
//! read, comment and like.

mod details;

use std::ops::RangeInclusive;

use tributary::blog::model::{PostId, UserId, Username};
use tributary_functions::values::Timestamp;
use tributary_local::chaos::Random;
use uuid::Uuid;

use crate::text::TextPool;

const POSTS_OF_A_USER: RangeInclusive<u64> = 5..=50;
const MAX_COMMENTS: u32 = 25;
const MAX_LIKES: u32 = 100;

/// The start of 2026; the posts are spread over the next 300 days.
const BEGIN_SECONDS: u64 = 1_767_225_600;
const SPAN_SECONDS: u64 = 300 * 24 * 60 * 60;

/// The streams of random numbers: those of the posts begin above these.
mod streams {
    pub(super) const USERS: u64 = 0;
    pub(super) const POSTS: u64 = 1;
    pub(super) const TEXT: u64 = 2;
    pub(super) const CHOICES: u64 = 100;
    pub(super) const FIRST_POST: u64 = 1_000;
}

/// The size of a data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BlogShape {
    /// The number of users that write posts.
    pub(crate) users: u32,
    pub(crate) seed: u64,
    /// The share of the article's comments and likes, 0 to 1.
    pub(crate) density: f64,
}

/// A user that posts, comments and likes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) id: UserId,
    pub(crate) username: Username,
}

/// A post without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PostPlan {
    pub(crate) id: PostId,
    /// Its number, the seed of all its random values.
    number: u64,
    /// The index of its author.
    pub(crate) author: usize,
    /// The time of its creation, in seconds since 1970.
    seconds: u64,
    pub(crate) comments: u32,
    pub(crate) likes: u32,
}

/// Users and posts.
#[derive(Debug)]
pub(crate) struct DataSet {
    /// The authors and the users without posts.
    pub(crate) users: Vec<Person>,
    n_authors: usize,
    pub(crate) posts: Vec<PostPlan>,
    seed: u64,
    text: TextPool,
}

impl DataSet {
    /// Generates a data set.
    pub(crate) fn generate(shape: BlogShape) -> anyhow::Result<Self> {
        let BlogShape { users: n_authors, seed, density } = shape;
        let mut random = Random::stream(seed, streams::USERS);
        let users: Vec<Person> = (0..n_authors.max(MAX_LIKES))
            .map(|n| person(&mut random, n))
            .collect::<anyhow::Result<_>>()?;
        let n_authors = n_authors as usize;

        let mut random = Random::stream(seed, streams::POSTS);
        let authors: Vec<usize> = (0..n_authors)
            .flat_map(|user| (0..between(&mut random, &POSTS_OF_A_USER)).map(move |_| user))
            .collect();
        // Each post has a different time, in an order independent of its author.
        let step = (SPAN_SECONDS / (authors.len() as u64).max(1)).max(1);
        let mut moments: Vec<u64> = (0..authors.len() as u64).map(|n| n * step).collect();
        random.shuffle(&mut moments);
        let comments = share(MAX_COMMENTS, density);
        let likes = share(MAX_LIKES, density);
        let posts = (0..).zip(authors).zip(moments).map(|((number, author), moment)| {
            Ok(PostPlan {
                id: PostId::parse(uuid(&mut random))?,
                number,
                author,
                seconds: BEGIN_SECONDS + moment + random.below(step),
                comments: up_to(&mut random, comments),
                likes: up_to(&mut random, likes),
            })
        });
        let posts = posts.collect::<anyhow::Result<_>>()?;
        let text = TextPool::new(Random::stream(seed, streams::TEXT));
        Ok(Self { users, n_authors, posts, seed, text })
    }

    /// Returns the users that write posts.
    pub(crate) fn authors(&self) -> &[Person] {
        &self.users[..self.n_authors]
    }

    /// Returns the author of a post.
    pub(crate) fn author(&self, post: &PostPlan) -> &Person {
        &self.users[post.author]
    }

    /// Returns the numbers of comments and likes.
    pub(crate) fn reactions(&self) -> (u64, u64) {
        self.posts.iter().fold((0, 0), |(comments, likes), post| {
            (comments + u64::from(post.comments), likes + u64::from(post.likes))
        })
    }

    /// Returns the random numbers for the calls of a kind of request.
    pub(crate) fn choices(&self, kind: u64) -> Random {
        Random::stream(self.seed, streams::CHOICES + kind)
    }

    /// Returns title and content of a post that is created during the measurement.
    pub(crate) fn new_text(&self, random: &mut Random) -> (String, String) {
        (self.text.title(random), self.text.content(random))
    }

    fn random_of(&self, post: &PostPlan) -> Random {
        Random::stream(self.seed, streams::FIRST_POST + post.number)
    }
}

impl PostPlan {
    pub(crate) fn created(&self) -> Timestamp {
        moment(self.seconds)
    }
}

/// Returns a time of this or the next century.
fn moment(seconds: u64) -> Timestamp {
    let moment = i64::try_from(seconds).ok().and_then(Timestamp::from_unix_seconds);
    moment.unwrap_or(Timestamp::EPOCH)
}

fn person(random: &mut Random, number: u32) -> anyhow::Result<Person> {
    const NAMES: [&str; 12] =
        ["ada", "bo", "cleo", "dan", "elif", "finn", "gita", "hugo", "ines", "jun", "kaya", "lars"];
    let username = format!("{}-{number}", NAMES[random.index(NAMES.len())]);
    Ok(Person { id: UserId::parse(uuid(random))?, username: Username::parse(username)? })
}

/// Returns an id in the article's form: a UUID.
fn uuid(random: &mut Random) -> String {
    let half = |random: &mut Random| u128::from(random.below(u64::MAX));
    let bits = half(random) << 64 | half(random);
    uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
}

/// Returns a fresh id for an item that is created during the measurement.
pub(crate) fn fresh_id() -> String {
    Uuid::new_v4().to_string()
}

fn share(most: u32, density: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 100; a cast saturates"
    )]
    let share = (f64::from(most) * density).round() as u32;
    share
}

fn up_to(random: &mut Random, most: u32) -> u32 {
    u32::try_from(random.below(u64::from(most) + 1)).unwrap_or(most)
}

fn between(random: &mut Random, range: &RangeInclusive<u64>) -> u64 {
    range.start() + random.below(range.end() - range.start() + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn data(users: u32, seed: u64, density: f64) -> DataSet {
        DataSet::generate(BlogShape { users, seed, density }).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn a_data_set_keeps_to_the_bounds_of_the_article(
            users in 1_u32..120, seed in any::<u64>(), density in 0.0..=1.0,
        ) {
            let data = data(users, seed, density);
            prop_assert_eq!(data.authors().len(), users as usize);
            prop_assert_eq!(data.users.len(), users.max(100) as usize);
            let mut posts_of = vec![0_u64; data.authors().len()];
            for post in &data.posts {
                posts_of[post.author] += 1;
                prop_assert!(f64::from(post.comments) <= (25.0 * density).round());
                prop_assert!(f64::from(post.likes) <= (100.0 * density).round());
            }
            prop_assert!(posts_of.iter().all(|n| POSTS_OF_A_USER.contains(n)));
            let moments: BTreeSet<String> =
                data.posts.iter().map(|post| post.created().to_string()).collect();
            prop_assert_eq!(moments.len(), data.posts.len());
            let ids: BTreeSet<&str> = data.posts.iter().map(|post| post.id.as_str()).collect();
            prop_assert_eq!(ids.len(), data.posts.len());
            let names: BTreeSet<String> =
                data.users.iter().map(|user| user.username.key()).collect();
            prop_assert_eq!(names.len(), data.users.len());
        }
    }

    #[test]
    fn the_bounds_are_reached() {
        let data = data(20, 1, 1.0);
        let most = |of: fn(&PostPlan) -> u32| data.posts.iter().map(of).max();
        let least = |of: fn(&PostPlan) -> u32| data.posts.iter().map(of).min();
        assert_eq!(most(|post| post.comments), Some(25));
        assert_eq!(most(|post| post.likes), Some(100));
        assert_eq!((least(|post| post.comments), least(|post| post.likes)), (Some(0), Some(0)));
    }

    #[test]
    fn a_seed_always_gives_the_same_data() {
        let one = data(9, 7, 1.0);
        let same = data(9, 7, 1.0);
        let other = data(9, 8, 1.0);
        assert_eq!((&one.users, &one.posts), (&same.users, &same.posts));
        assert_ne!(one.posts, other.posts);
        let post = &one.posts[0];
        assert_eq!(one.comments(post).unwrap(), same.comments(post).unwrap());
        assert_eq!(one.likes(post), same.likes(post));
        assert_eq!(one.text_of(post), same.text_of(post));
    }
}
