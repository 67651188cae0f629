//! The renamed user, and its many items.

use azure_data_cosmos::{DatabaseClient, Query};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use tributary_simulator::items as find;

pub(super) const ANN: &str = "ann";
pub(super) const BEFORE: &str = "Ann";
pub(super) const AFTER: &str = "Anna";
/// The other author, whose id and name stay.
pub(super) const BOB: &str = "bob";

/// The number of Ann's items under one post.
const ITEMS_UNDER_A_POST: usize = 10;

/// The number of the newest posts in the feed.
const FEED_POSTS: usize = 100;

/// Writes the items in the form of the commands, past the app: a tenth of them under each post. Ann has
/// written every second post; she likes all of them, and the remaining items are her comments.
///
/// One by one: for a transaction the local store copies the whole physical partition.
pub(super) async fn write_items(database: &DatabaseClient, items: usize) -> anyhow::Result<()> {
    let posts = database.container_client("posts", None).await?;
    let written = (0..items.div_ceil(ITEMS_UNDER_A_POST)).flat_map(|number| {
        let rest = items - number * ITEMS_UNDER_A_POST;
        under_a_post(number, rest.min(ITEMS_UNDER_A_POST))
            .into_iter()
            .map(move |item| (number, item))
    });
    let writes = written.map(async |(number, item)| {
        let id = item["id"].as_str().unwrap_or_default();
        posts.create_item(post_id(number), id, &item, None).await?;
        Ok(())
    });
    stream::iter(writes).buffer_unordered(8).try_collect().await
}

fn post_id(number: usize) -> String {
    format!("post-{number:07}")
}

fn is_by_ann(number: usize) -> bool {
    number.is_multiple_of(2)
}

/// Returns the items under a post, `of_ann` of them Ann's.
fn under_a_post(number: usize, of_ann: usize) -> Vec<Value> {
    let post_id = post_id(number);
    let (author, name) = if is_by_ann(number) { (ANN, BEFORE) } else { (BOB, BOB) };
    let minute = number / 60 % 60;
    let second = number % 60;
    let date = format!("2026-01-01T{:02}:{minute:02}:{second:02}.000Z", number / 3600 % 24);
    let reactions = if is_by_ann(number) { of_ann - 1 } else { of_ann };
    let likes = reactions.min(1);
    let comments = reactions.saturating_sub(1);
    let post = json!({
        "type": "post", "id": post_id, "postId": post_id, "userId": author, "userUsername": name,
        "title": format!("Post {number}"), "content": "A text of some length. ".repeat(40),
        "commentCount": comments, "likeCount": likes, "creationDate": date,
        "version": 1 + reactions, "usernameVersion": 1,
    });
    let like = json!({
        "type": "like", "id": format!("like:{ANN}"), "postId": post_id, "userId": ANN,
        "userUsername": BEFORE, "creationDate": date, "usernameVersion": 1, "postVersion": 2,
    });
    let comment = |n: usize| {
        json!({
            "type": "comment", "id": format!("comment-{n}"), "postId": post_id, "userId": ANN,
            "userUsername": BEFORE, "content": "A word on this. ".repeat(10),
            "creationDate": date, "usernameVersion": 1, "postVersion": 3 + n,
        })
    };
    let likes = std::iter::repeat_n(like, likes);
    std::iter::once(post).chain(likes).chain((0..comments).map(comment)).collect()
}

/// Returns true if none of Ann's items has her old name.
pub(super) async fn is_renamed(database: &DatabaseClient) -> anyhow::Result<bool> {
    let query =
        Query::from("SELECT TOP 1 c.id FROM c WHERE c.userId = @userId AND c.usernameVersion < 2")
            .with_parameter("@userId", ANN)?;
    let old = find(database, "posts", query).await?;
    Ok(old.is_empty())
}

/// Returns the faults in `posts` and `dead-letters`.
pub(super) async fn check_names(
    database: &DatabaseClient,
    items: usize,
) -> anyhow::Result<Vec<String>> {
    let stored = find(database, "posts", "SELECT * FROM c").await?;
    let mut wrong = wrong_names("posts", &stored);
    let old = |item: &&Value| item["userId"] == ANN && item["usernameVersion"] != 2;
    wrong.extend(stored.iter().filter(old).map(|item| format!("old version of name: {item}")));
    compare(&mut wrong, "items of Ann", n_items_of_ann(&stored), items);
    let letters = find(database, "dead-letters", "SELECT * FROM c").await?;
    wrong.extend(letters.iter().map(|letter| format!("dead letter: {}", letter["reason"])));
    Ok(wrong)
}

/// Returns the faults of the copies of posts.
pub(super) async fn check_copies(
    database: &DatabaseClient,
    items: usize,
) -> anyhow::Result<Vec<String>> {
    let posts = items.div_ceil(ITEMS_UNDER_A_POST);
    let query = "SELECT * FROM c WHERE c.type = 'post'";
    let in_users = find(database, "users", query).await?;
    let mut wrong = wrong_names("users", &in_users);
    compare(&mut wrong, "copies in users", in_users.len(), posts);
    compare(&mut wrong, "copies of Ann's posts", n_items_of_ann(&in_users), posts.div_ceil(2));
    let mut in_feed = find(database, "feed", query).await?;
    // The head of the feed is no post.
    in_feed.retain(|item| item["title"].is_string());
    wrong.extend(wrong_names("feed", &in_feed));
    compare(&mut wrong, "posts in the feed", in_feed.len(), posts.min(FEED_POSTS));
    Ok(wrong)
}

fn n_items_of_ann(items: &[Value]) -> usize {
    items.iter().filter(|item| item["userId"] == ANN).count()
}

fn wrong_names(container: &str, items: &[Value]) -> Vec<String> {
    let name = |item: &Value| if item["userId"] == ANN { AFTER } else { BOB };
    let wrong = items.iter().filter(|item| item["userUsername"] != name(item));
    wrong
        .map(|item| format!("{container}: {} is by {}", item["id"], item["userUsername"]))
        .collect()
}

fn compare(wrong: &mut Vec<String>, what: &str, found: usize, expected: usize) {
    if found != expected {
        wrong.push(format!("{found} {what} instead of {expected}"));
    }
}
