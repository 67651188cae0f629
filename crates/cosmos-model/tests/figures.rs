//! The model against the thirty figures of the article that it is fitted to: ten requests on three models of a blog,
//! <https://learn.microsoft.com/azure/cosmos-db/nosql/model-partition-example>. The figures tell the lengths of the lists:
//! comments cost exactly 20.00 less without usernames, likes 50.00, and the posts of a user 25 times the two counts.

#![expect(clippy::unwrap_used, reason = "a count of items fits")]

use serde_json::{Value, json};

use cosmos_model::charges::{
    MAX_MODEL_ERROR,
    items::{ItemVersion, WriteScope, create, replace},
    policy::IndexingPolicy,
    rates,
    reads::{QueryWork, query},
};

/// The numbers of the article's data, by its figures.
const COMMENTS_OF_A_POST: u32 = 20;
const LIKES_OF_A_POST: u32 = 50;
const POSTS_OF_A_USER: u32 = 25;
const POSTS_OF_THE_FEED: u32 = 100;
/// The mean of "up to 25" in the counts of a feed's posts.
const COMMENTS_OF_ANY_POST: u32 = 12;
/// Assumed: physical partitions of the article's container, two million posts with all they have.
const PARTITIONS: u32 = 64;
/// Assumed: each partition hands over 20 posts for the 100 newest of all.
const NEWEST_OF_ALL: u32 = PARTITIONS * 20;
/// Assumed: bytes of the content of a comment or post, of a summary, and of a title.
const CONTENT_BYTES: usize = 1_200;
const SUMMARY_BYTES: usize = 200;
const TITLE_BYTES: usize = 40;
/// The bytes that the store adds to an item.
const SYSTEM_BYTES: usize = 220;

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlogModel {
    V1,
    V2,
    V3,
}
use BlogModel::{V1, V2, V3};

/// A request, the published figures of V1, V2 and V3, and the model.
type FigureRow = (&'static str, [f64; 3], fn(BlogModel) -> f64);

const ROWS: [FigureRow; 10] = [
    ("C1", [5.71, 5.71, 5.71], |v| put(&user(v))),
    ("Q1", [1.0, 1.0, 1.0], |v| get(&user(v))),
    ("C2", [8.76, 8.76, 8.76], |v| put(&post(v, CONTENT_BYTES))),
    ("Q2", [19.54, 1.0, 1.0], |v| {
        let in_v1 = || one_partition(1, 1, &user(v)) + counts(COMMENTS_OF_A_POST);
        get(&post(v, CONTENT_BYTES)) + if v == V1 { in_v1() } else { 0.0 }
    }),
    ("Q3", [619.41, 201.54, 6.46], |v| match v {
        V1 => {
            everywhere(v, POSTS_OF_A_USER)
                + 1.0
                + f64::from(POSTS_OF_A_USER) * counts(COMMENTS_OF_A_POST)
        }
        V2 => everywhere(v, POSTS_OF_A_USER),
        V3 => one_partition(2, POSTS_OF_A_USER, &post(v, SUMMARY_BYTES)),
    }),
    ("C3", [8.57, 15.27, 15.27], |v| put(&comment(v)) + counted(v, "commentCount")),
    ("Q4", [27.72, 7.72, 7.72], |v| {
        one_partition(2, COMMENTS_OF_A_POST, &comment(v)) + usernames(v, COMMENTS_OF_A_POST)
    }),
    ("C4", [7.05, 14.67, 14.67], |v| put(&like(v)) + counted(v, "likeCount")),
    ("Q5", [58.92, 8.92, 8.92], |v| {
        one_partition(2, LIKES_OF_A_POST, &like(v)) + usernames(v, LIKES_OF_A_POST)
    }),
    ("Q6", [2063.54, 532.33, 16.97], |v| match v {
        V1 => {
            everywhere(v, NEWEST_OF_ALL)
                + usernames(v, POSTS_OF_THE_FEED)
                + f64::from(POSTS_OF_THE_FEED) * counts(COMMENTS_OF_ANY_POST)
        }
        V2 => everywhere(v, NEWEST_OF_ALL),
        V3 => one_partition(2, POSTS_OF_THE_FEED, &post(v, SUMMARY_BYTES)),
    }),
];

#[test]
fn the_model_is_within_a_quarter_of_each_published_figure() {
    let mut far = Vec::new();
    for (request, published, charge) in ROWS {
        for (model, published) in [V1, V2, V3].into_iter().zip(published) {
            let modelled = charge(model);
            let error = modelled / published - 1.0;
            let line =
                format!("{request}: {modelled:.2} for {published:.2}, {:+.1} %", error * 100.0);
            println!("{line}");
            far.extend((error.abs() > MAX_MODEL_ERROR).then_some(line));
        }
    }
    assert!(far.is_empty(), "{far:?}");
}

/// Returns the request units of a new item.
fn put(item: &Value) -> f64 {
    create(&version(item), &IndexingPolicy::default())
}

fn get(item: &Value) -> f64 {
    rates::read(version(item).bytes)
}

/// Returns the additional request units of the stored procedures of V2 and V3: they read the post, and count in
/// it.
fn counted(model: BlogModel, count: &str) -> f64 {
    if model == V1 {
        return 0.0;
    }
    let post = post(model, CONTENT_BYTES);
    let mut counted = post.clone();
    counted[count] = json!(4);
    let old = version(&post);
    let new = version(&counted);
    get(&post) + replace(&old, &new, &IndexingPolicy::default(), WriteScope::Transaction)
}

/// Returns the request units of the authors' names, which V1 reads one by one.
fn usernames(model: BlogModel, n: u32) -> f64 {
    if model == V1 { f64::from(n) * get(&user(model)) } else { 0.0 }
}

/// Returns the request units of the two queries that count the comments and likes of a post in V1. They load
/// them.
fn counts(n_comments: u32) -> f64 {
    let count = |n, item: &Value| {
        query(QueryWork { bytes_returned: 0, ..work(1, 2, n, version(item).bytes) })
    };
    count(n_comments, &comment(V1)) + count(LIKES_OF_A_POST, &like(V1))
}

fn one_partition(seeks: u32, n: u32, item: &Value) -> f64 {
    query(work(1, seeks, n, version(item).bytes))
}

/// Returns the request units of posts from all partitions.
fn everywhere(model: BlogModel, items_loaded: u32) -> f64 {
    query(work(PARTITIONS, 2, items_loaded, version(&post(model, CONTENT_BYTES)).bytes))
}

fn work(partitions: u32, seeks: u32, items_loaded: u32, bytes_of_item: usize) -> QueryWork {
    let bytes = bytes_of_item * usize::try_from(items_loaded).unwrap();
    QueryWork { partitions, seeks, items_loaded, bytes_loaded: bytes, bytes_returned: bytes }
}

fn version(item: &Value) -> ItemVersion {
    ItemVersion { item: item.clone(), bytes: item.to_string().len() + SYSTEM_BYTES }
}

const ID: &str = "0192c5a6-7b1e-7c3d-9f00-3a5d2b8e4c71";
const DATE: &str = "2019-05-02T10:21:33.123Z";

fn user(model: BlogModel) -> Value {
    match model {
        V1 | V2 => json!({ "id": ID, "username": "someone" }),
        V3 => json!({ "id": ID, "type": "user", "userId": ID, "username": "someone" }),
    }
}

fn post(model: BlogModel, content: usize) -> Value {
    let mut post = like(model);
    post["type"] = json!("post");
    post["title"] = json!("t".repeat(TITLE_BYTES));
    post["content"] = json!("c".repeat(content));
    if model != V1 {
        post["commentCount"] = json!(3);
        post["likeCount"] = json!(3);
    }
    post
}

fn comment(model: BlogModel) -> Value {
    let mut comment = like(model);
    comment["type"] = json!("comment");
    comment["content"] = json!("c".repeat(CONTENT_BYTES));
    comment
}

fn like(model: BlogModel) -> Value {
    let mut like = json!({
        "id": ID, "type": "like", "postId": ID, "userId": ID, "creationDate": DATE,
    });
    if model != V1 {
        like["userUsername"] = json!("someone");
    }
    like
}
