//! The article's data set: 5 to 50 posts a user, up to 25 comments and up to 100 likes a post. It is always the same.

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
}

impl DataSet {
    pub(super) fn generate(n_authors: u32, percent: u32) -> Self {
        let mut random = Random::stream(SEED, 0);
        let users = (0..n_authors.max(MAX_LIKES)).map(|n| person(&mut random, n)).collect();
        let n_authors = n_authors as usize;
        let authors = (0..n_authors).flat_map(|user| vec![user; 5 + random.index(46)]);
        let authors: Vec<usize> = authors.collect();
        // Each post has a different time, in an order independent of its author.
        let step = (SPAN_SECONDS / (authors.len() as u64).max(1)).max(1);
        let mut moments: Vec<u64> = (0..authors.len() as u64).map(|n| n * step).collect();
        random.shuffle(&mut moments);
        let mut data = Self { users, n_authors, posts: Vec::new() };
        for (author, moment) in authors.into_iter().zip(moments) {
            let seconds = BEGIN_SECONDS + moment + random.below(step);
            let counts = [MAX_COMMENTS, MAX_LIKES]
                .map(|most| random.below(u64::from((most * percent).div_ceil(100)) + 1));
            data.posts.push(data.items_of_post(&mut random, author, seconds, counts));
        }
        data
    }

    pub(super) fn choices(kind: u64) -> Random {
        Random::stream(SEED, 1 + kind)
    }

    fn items_of_post(
        &self,
        random: &mut Random,
        author: usize,
        created: u64,
        counts: [u64; 2],
    ) -> Vec<Value> {
        let id = uuid(random);
        let text = PostText::new(random);
        let mut items = vec![post(&id, &self.users[author], &text, moment(created), counts)];
        let mut seconds = created;
        for _ in 0..counts[0] {
            seconds += 1 + random.below(MAX_PAUSE_SECONDS);
            let author = &self.users[random.index(self.users.len())];
            let content = PostText::new(random).content;
            items.push(comment(&id, &uuid(random), author, &content, moment(seconds)));
        }
        let mut seconds = created;
        let mut likers: Vec<&Person> = self.users.iter().collect();
        random.shuffle(&mut likers);
        for liker in likers.into_iter().take(usize::try_from(counts[1]).unwrap_or_default()) {
            seconds += 1 + random.below(MAX_PAUSE_SECONDS);
            items.push(like(&id, &uuid(random), liker, moment(seconds)));
        }
        items
    }
}

impl PostText {
    /// Returns a title of 20 to 60 characters and a content of 800 to 1,600, as the charge model assumes them
    /// for the article. Texts need to differ, not to be read.
    pub(super) fn new(random: &mut Random) -> Self {
        let mut text = |shortest: usize, longest: usize| {
            let length = shortest + random.index(longest - shortest + 1);
            format!("{:0<length$}", random.below(u64::MAX))
        };
        Self { title: text(20, 60), content: text(800, 1_600) }
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
    Person { id: uuid(random), username: format!("user-{number}") }
}

fn uuid(random: &mut Random) -> String {
    let mut half = || u128::from(random.below(u64::MAX));
    let bits = half() << 64 | half();
    uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid().to_string()
}
