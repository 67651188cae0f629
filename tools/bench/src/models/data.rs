//! The article's data set: 5 to 50 posts a user, up to 25 comments and up to 100 likes a post. It is always the same.

use std::collections::HashSet;

use serde_json::{Value, json};
use tributary_functions::values::Timestamp;
use tributary_local::chaos::Random;

const SEED: u64 = 1;
const MAX_COMMENTS: u32 = 25;
/// A user likes a post once, so there are at least as many users. Those beyond `--users` write no posts.
const MAX_LIKES: u32 = 100;

/// The start of 2026; the posts are spread over the next 300 days.
const BEGIN_SECONDS: u64 = 1_767_225_600;
const SPAN_SECONDS: u64 = 300 * 24 * 60 * 60;
const MAX_PAUSE_SECONDS: u64 = 60;

/// The streams of random numbers. Each post has one, too, from `FIRST_POST` on.
mod streams {
    pub(super) const USERS: u64 = 0;
    pub(super) const POSTS: u64 = 1;
    pub(super) const TEXT: u64 = 2;
    pub(super) const CHOICES: u64 = 100;
    pub(super) const FIRST_POST: u64 = 1_000;
}

#[derive(Clone, Debug)]
pub(super) struct Person {
    pub(super) id: String,
    pub(super) username: String,
}

#[derive(Clone, Debug)]
pub(super) struct PostText {
    pub(super) title: String,
    pub(super) content: String,
}

pub(super) struct DataSet {
    pub(super) users: Vec<Person>,
    /// The first of the users, who write posts.
    pub(super) n_authors: usize,
    /// The items of each post in their final form: the post, its comments and its likes, each oldest first and at a
    /// different time.
    pub(super) posts: Vec<Vec<Value>>,
    words: String,
}

impl DataSet {
    pub(super) fn generate(n_authors: u32, percent: u32) -> Self {
        let mut random = Random::stream(SEED, streams::USERS);
        let users = (0..n_authors.max(MAX_LIKES)).map(|n| person(&mut random, n)).collect();
        let n_authors = n_authors as usize;
        let mut random = Random::stream(SEED, streams::POSTS);
        let authors = (0..n_authors).flat_map(|user| (0..5 + random.below(46)).map(move |_| user));
        let authors: Vec<usize> = authors.collect();
        // Each post has a different time, in an order independent of its author.
        let step = (SPAN_SECONDS / (authors.len() as u64).max(1)).max(1);
        let mut moments: Vec<u64> = (0..authors.len() as u64).map(|n| n * step).collect();
        random.shuffle(&mut moments);
        let up_to = |most: u32, random: &mut Random| {
            random.below(u64::from((most * percent).div_ceil(100)) + 1)
        };
        let words = words(&mut Random::stream(SEED, streams::TEXT));
        let mut data = Self { users, n_authors, posts: Vec::new(), words };
        for ((stream, author), moment) in (streams::FIRST_POST..).zip(authors).zip(moments) {
            let id = uuid(&mut random);
            let seconds = BEGIN_SECONDS + moment + random.below(step);
            let counts = [MAX_COMMENTS, MAX_LIKES].map(|most| up_to(most, &mut random));
            let of_post = Random::stream(SEED, stream);
            data.posts.push(data.items_of_post(of_post, &id, author, seconds, counts));
        }
        data
    }

    pub(super) fn choices(kind: u64) -> Random {
        Random::stream(SEED, streams::CHOICES + kind)
    }

    /// Returns a title of 20 to 60 characters and a content of 800 to 1,600, as the charge model assumes them
    /// for the article.
    pub(super) fn new_text(&self, random: &mut Random) -> PostText {
        PostText { title: self.text(random, 20, 60), content: self.text(random, 800, 1_600) }
    }

    fn items_of_post(
        &self,
        mut random: Random,
        id: &str,
        author: usize,
        created: u64,
        counts: [u64; 2],
    ) -> Vec<Value> {
        let text = self.new_text(&mut random.fork());
        let mut items = vec![post(id, &self.users[author], &text, moment(created), counts)];
        let mut of_comments = random.fork();
        let mut seconds = created;
        for _ in 0..counts[0] {
            seconds += 1 + of_comments.below(MAX_PAUSE_SECONDS);
            let own_id = uuid(&mut of_comments);
            let author = &self.users[of_comments.index(self.users.len())];
            let content = self.text(&mut of_comments, 800, 1_600);
            items.push(comment(id, &own_id, author, &content, moment(seconds)));
        }
        let mut of_likes = random.fork();
        let mut seconds = created;
        let mut likers = HashSet::new();
        for _ in 0..counts[1] {
            seconds += 1 + of_likes.below(MAX_PAUSE_SECONDS);
            let mut liker = of_likes.index(self.users.len());
            while !likers.insert(liker) {
                liker = of_likes.index(self.users.len());
            }
            let own_id = uuid(&mut of_likes);
            items.push(like(id, &own_id, &self.users[liker], moment(seconds)));
        }
        items
    }

    /// Returns a text of a random length, cut from the words: texts need to differ, not to be read.
    fn text(&self, random: &mut Random, shortest: usize, longest: usize) -> String {
        let length = shortest + random.index(longest - shortest + 1);
        let start = random.index(WORDS_BYTES - longest);
        self.words[start..start + length].to_owned()
    }
}

pub(super) fn post(
    id: &str,
    author: &Person,
    text: &PostText,
    created: Timestamp,
    [comments, likes]: [u64; 2],
) -> Value {
    json!({
        "type": "post", "id": id, "postId": id, "userId": author.id, "userUsername": author.username,
        "title": text.title, "content": text.content, "creationDate": created,
        "commentCount": comments, "likeCount": likes,
    })
}

pub(super) fn comment(
    post: &str,
    id: &str,
    author: &Person,
    content: &str,
    created: Timestamp,
) -> Value {
    json!({
        "type": "comment", "id": id, "postId": post, "userId": author.id,
        "userUsername": author.username, "content": content, "creationDate": created,
    })
}

pub(super) fn like(post: &str, id: &str, liker: &Person, created: Timestamp) -> Value {
    json!({
        "type": "like", "id": id, "postId": post, "userId": liker.id,
        "userUsername": liker.username, "creationDate": created,
    })
}

pub(super) fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn moment(seconds: u64) -> Timestamp {
    Timestamp::EPOCH.after(std::time::Duration::from_secs(seconds))
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
    const WORDS: &str = "stream river partition query change feed post reader write small copy index \
                         order newest item page key the and with over of a in";
    let all: Vec<&str> = WORDS.split(' ').collect();
    let mut words = String::new();
    while words.len() < WORDS_BYTES {
        words.extend([all[random.index(all.len())], " "]);
    }
    words
}
