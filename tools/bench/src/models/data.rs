//! The article's data set: 5 to 50 posts a user, up to 25 comments and up to 100 likes a post. The same seed
//! always gives the same data; texts, comments and likes are generated when they are needed.

use std::{collections::HashSet, ops::RangeInclusive};

use tributary_functions::values::Timestamp;
use tributary_local::chaos::Random;

const POSTS_OF_A_USER: RangeInclusive<u64> = 5..=50;
const MAX_COMMENTS: u32 = 25;
/// A user likes a post once, so there are at least as many users. Those beyond `--users` write no posts.
const MAX_LIKES: u32 = 100;

/// The start of 2026; the posts are spread over the next 300 days.
const BEGIN_SECONDS: u64 = 1_767_225_600;
const SPAN_SECONDS: u64 = 300 * 24 * 60 * 60;
/// The seconds from one comment or like of a post to the next, at most.
const MAX_PAUSE_SECONDS: u64 = 60;

/// The streams of random numbers. Each post has one, too, from `FIRST_POST` on.
mod streams {
    pub(super) const USERS: u64 = 0;
    pub(super) const POSTS: u64 = 1;
    pub(super) const TEXT: u64 = 2;
    pub(super) const CHOICES: u64 = 100;
    pub(super) const FIRST_POST: u64 = 1_000;
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Person {
    pub(super) id: String,
    pub(super) username: String,
}

#[derive(Debug, PartialEq)]
pub(super) struct PostPlan {
    pub(super) id: String,
    number: u64,
    pub(super) author: usize,
    seconds: u64,
    pub(super) comments: u32,
    pub(super) likes: u32,
}

#[derive(Debug)]
pub(super) struct PostText {
    pub(super) title: String,
    pub(super) content: String,
}

pub(super) struct NewComment {
    pub(super) id: String,
    pub(super) author: Person,
    pub(super) content: String,
    pub(super) created: Timestamp,
}

pub(super) struct NewLike {
    pub(super) id: String,
    pub(super) liker: Person,
    pub(super) created: Timestamp,
}

pub(super) struct DataSet {
    pub(super) users: Vec<Person>,
    /// The first of the users, who write posts.
    pub(super) n_authors: usize,
    pub(super) posts: Vec<PostPlan>,
    seed: u64,
    words: String,
}

impl DataSet {
    /// Generates a data set with a share of the article's comments and likes, 0 to 1.
    pub(super) fn generate(n_authors: u32, seed: u64, density: f64) -> Self {
        let mut random = Random::stream(seed, streams::USERS);
        let users = (0..n_authors.max(MAX_LIKES)).map(|n| person(&mut random, n)).collect();
        let mut random = Random::stream(seed, streams::POSTS);
        let authors: Vec<usize> = (0..n_authors as usize)
            .flat_map(|user| (0..between(&mut random, &POSTS_OF_A_USER)).map(move |_| user))
            .collect();
        // Each post has a different time, in an order independent of its author.
        let step = (SPAN_SECONDS / (authors.len() as u64).max(1)).max(1);
        let mut moments: Vec<u64> = (0..authors.len() as u64).map(|n| n * step).collect();
        random.shuffle(&mut moments);
        let [comments, likes] = [MAX_COMMENTS, MAX_LIKES].map(|most| share(most, density));
        let posts = (0..).zip(authors).zip(moments).map(|((number, author), moment)| PostPlan {
            id: uuid(&mut random),
            number,
            author,
            seconds: BEGIN_SECONDS + moment + random.below(step),
            comments: up_to(&mut random, comments),
            likes: up_to(&mut random, likes),
        });
        let posts = posts.collect();
        let words = words(&mut Random::stream(seed, streams::TEXT));
        Self { users, n_authors: n_authors as usize, posts, seed, words }
    }

    pub(super) fn author(&self, post: &PostPlan) -> &Person {
        &self.users[post.author]
    }

    pub(super) fn choices(&self, kind: u64) -> Random {
        Random::stream(self.seed, streams::CHOICES + kind)
    }

    /// Returns a title of 20 to 60 characters and a content of 800 to 1,600, as the charge model assumes them
    /// for the article.
    pub(super) fn new_text(&self, random: &mut Random) -> PostText {
        let title = self.text(random, 20, 60);
        PostText { title, content: self.text(random, 800, 1_600) }
    }

    pub(super) fn text_of(&self, post: &PostPlan) -> PostText {
        let [mut random, ..] = self.random_of(post);
        self.new_text(&mut random)
    }

    /// Returns the comments on a post, oldest first, each at a different time.
    pub(super) fn comments(&self, post: &PostPlan) -> Vec<NewComment> {
        let [_, mut random, _] = self.random_of(post);
        let mut seconds = post.seconds;
        let comments = (0..post.comments).map(|_| {
            seconds += 1 + random.below(MAX_PAUSE_SECONDS);
            NewComment {
                id: uuid(&mut random),
                author: self.users[random.index(self.users.len())].clone(),
                content: self.text(&mut random, 800, 1_600),
                created: moment(seconds),
            }
        });
        comments.collect()
    }

    /// Returns the likes of a post, oldest first, each at a different time and of a different user.
    pub(super) fn likes(&self, post: &PostPlan) -> Vec<NewLike> {
        let [.., mut random] = self.random_of(post);
        let mut seconds = post.seconds;
        let mut likers = HashSet::new();
        let likes = (0..post.likes).map(|_| {
            seconds += 1 + random.below(MAX_PAUSE_SECONDS);
            let liker = loop {
                let liker = random.index(self.users.len());
                if likers.insert(liker) {
                    break self.users[liker].clone();
                }
            };
            NewLike { id: uuid(&mut random), liker, created: moment(seconds) }
        });
        likes.collect()
    }

    /// Returns the random numbers for the text, the comments and the likes of a post.
    fn random_of(&self, post: &PostPlan) -> [Random; 3] {
        let mut random = Random::stream(self.seed, streams::FIRST_POST + post.number);
        [random.fork(), random.fork(), random.fork()]
    }

    /// Returns a text of a random length, cut from the words: texts need to differ, not to be read.
    fn text(&self, random: &mut Random, shortest: usize, longest: usize) -> String {
        let length = shortest + random.index(longest - shortest + 1);
        let start = random.index(WORDS_BYTES - longest);
        self.words[start..start + length].to_owned()
    }
}

impl PostPlan {
    pub(super) fn created(&self) -> Timestamp {
        moment(self.seconds)
    }
}

pub(super) fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn moment(seconds: u64) -> Timestamp {
    let moment = i64::try_from(seconds).ok().and_then(Timestamp::from_unix_seconds);
    moment.unwrap_or(Timestamp::EPOCH)
}

fn person(random: &mut Random, number: u32) -> Person {
    const NAMES: [&str; 12] =
        ["ada", "bo", "cleo", "dan", "elif", "finn", "gita", "hugo", "ines", "jun", "kaya", "lars"];
    let username = format!("{}-{number}", NAMES[random.index(NAMES.len())]);
    Person { id: uuid(random), username }
}

fn uuid(random: &mut Random) -> String {
    let mut half = || u128::from(random.below(u64::MAX));
    let bits = half() << 64 | half();
    uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
}

const WORDS_BYTES: usize = 32 * 1024;

fn words(random: &mut Random) -> String {
    #[rustfmt::skip]
    const WORDS: [&str; 24] = [
        "stream", "river", "partition", "query", "change", "feed", "post", "reader", "write", "small", "copy",
        "index", "order", "newest", "item", "page", "key", "the", "and", "with", "over", "of", "a", "in",
    ];
    let mut words = String::new();
    while words.len() < WORDS_BYTES {
        words.push_str(WORDS[random.index(WORDS.len())]);
        words.push(' ');
    }
    words
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
