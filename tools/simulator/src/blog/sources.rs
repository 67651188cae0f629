//! Users and posts that no client changes.

use serde_json::{Value, json};
use tributary_local::client::Call;

use crate::copies::{FIRST_NAME, ManyCopies, SOURCE};

const ITEMS_OF_A_POST: usize = 10;

/// Older than the posts of clients, so the feed shows theirs first.
const DATE: &str = "2026-01-01T00:00:00.000Z";

/// Returns an author with posts, and as many comments and likes that there are `count` items.
pub(super) fn many_copies(count: usize) -> ManyCopies {
    let posts = 0..count.div_ceil(ITEMS_OF_A_POST);
    ManyCopies {
        container: "posts",
        partition_key: "postId",
        list: (format!("/api/users/{SOURCE}/posts"), posts.len()),
        items: posts.flat_map(post_with_reactions).collect(),
        renames: |name| {
            vec![Call::put(format!("/api/users/{SOURCE}"), json!({ "username": name }))]
        },
        names: |item| vec![&item["userUsername"]],
        renamed: 0,
    }
}

/// Returns a post with a like and comments, each of which was counted in turn.
fn post_with_reactions(number: usize) -> Vec<Value> {
    let id = format!("{SOURCE}-{number}");
    let comments = ITEMS_OF_A_POST - 2;
    let of_source = |kind: &str, own_id: &str, mut item: Value| {
        item["type"] = kind.into();
        item["id"] = own_id.into();
        item["postId"] = id.as_str().into();
        item["userId"] = SOURCE.into();
        item["userUsername"] = FIRST_NAME.into();
        item["usernameVersion"] = 1.into();
        item["creationDate"] = DATE.into();
        item
    };
    let post = json!({
        "title": "A title", "content": "A text of some length. ".repeat(40),
        "commentCount": comments, "likeCount": 1, "version": ITEMS_OF_A_POST,
    });
    let like = json!({ "postVersion": 2 });
    let mut items =
        vec![of_source("post", &id, post), of_source("like", &format!("like:{SOURCE}"), like)];
    items.extend((0..comments).map(|n| {
        let comment = json!({ "content": "A word on this. ".repeat(10), "postVersion": 3 + n });
        of_source("comment", &format!("comment-{n}"), comment)
    }));
    items
}
