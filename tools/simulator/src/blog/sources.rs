//! Users and posts that no client changes.

use serde_json::{Value, json};
use tributary_local::client::Call;

use crate::copies::{FIRST_NAME, ManyCopies, RemovedParent, SOURCE};

const ITEMS_OF_A_POST: usize = 10;

/// Older than the posts of clients, so the feed shows theirs first.
const DATE: &str = "2026-01-01T00:00:00.000Z";

/// Returns an author with posts, and as many comments and likes that there are `count` items; and a post
/// with a quarter as many likes, which is deleted.
pub(super) fn many_copies(count: usize) -> ManyCopies {
    let posts = 0..count.div_ceil(ITEMS_OF_A_POST);
    let removed = format!("{SOURCE}-removed");
    let likes = count / 4;
    let mut removed_items = vec![post(&removed, 0, likes)];
    removed_items.extend((0..likes).map(|n| like(&removed, &format!("fan-{n}"), n)));
    ManyCopies {
        container: "posts",
        partition_key: "postId",
        list: (format!("/api/users/{SOURCE}/posts"), posts.len()),
        items: posts.flat_map(post_with_reactions).collect(),
        renames: |name| {
            vec![Call::put(format!("/api/users/{SOURCE}"), json!({ "username": name }))]
        },
        names: |item| vec![&item["userUsername"]],
        removed: Some(RemovedParent {
            path: format!("/api/posts/{removed}"),
            body: json!({"userId": SOURCE, "title": "Anew", "content": "A text."}),
            children: format!("/api/posts/{removed}/likes"),
            items: removed_items,
            tombstone: "deletedPost",
        }),
        renamed: 0,
    }
}

fn post_with_reactions(number: usize) -> Vec<Value> {
    let id = format!("{SOURCE}-{number}");
    let comments = ITEMS_OF_A_POST - 2;
    let mut items = vec![post(&id, comments, 1), like(&id, SOURCE, 0)];
    items.extend((0..comments).map(|n| {
        json!({
            "type": "comment", "id": format!("comment-{n}"), "postId": id, "userId": SOURCE,
            "userUsername": FIRST_NAME, "content": "A word on this. ".repeat(10),
            "creationDate": DATE, "usernameVersion": 1, "postVersion": 3 + n,
        })
    }));
    items
}

fn post(id: &str, comments: usize, likes: usize) -> Value {
    json!({
        "type": "post", "id": id, "postId": id, "userId": SOURCE, "userUsername": FIRST_NAME,
        "title": "A title", "content": "A text of some length. ".repeat(40),
        "commentCount": comments, "likeCount": likes, "creationDate": DATE,
        "version": 1 + comments + likes, "usernameVersion": 1,
    })
}

fn like(post_id: &str, user: &str, number: usize) -> Value {
    json!({
        "type": "like", "id": format!("like:{user}"), "postId": post_id, "userId": user,
        "userUsername": FIRST_NAME, "creationDate": DATE, "usernameVersion": 1,
        "postVersion": 2 + number,
    })
}
