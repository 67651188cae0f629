//! `--demo`: a small readable data set, loaded through the API like any client would.
//!
//! Every request is safe to repeat: items have fixed ids and are only created, comments carry an
//! `Idempotency-Key`. So loading it again adds nothing twice.

mod api;

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::{Value, json};
use tributary_local::host::{Console, Keys};

use api::Api;

#[derive(Deserialize)]
struct DataSet {
    users: Vec<User>,
    rename: Rename,
    posts: Vec<Post>,
}

#[derive(Deserialize)]
struct User {
    id: String,
    username: String,
}

#[derive(Deserialize)]
struct Rename {
    user: String,
    to: String,
}

#[derive(Deserialize)]
struct Post {
    id: String,
    by: String,
    title: String,
    content: String,
    comments: Vec<Comment>,
    likes: Vec<String>,
}

#[derive(Deserialize)]
struct Comment {
    by: String,
    text: String,
}

/// How long the change feed may take to bring everything into the news feed.
const FEED_DEADLINE: Duration = Duration::from_mins(1);
/// How often the news feed is asked meanwhile.
const FEED_INTERVAL: Duration = Duration::from_millis(250);

/// Loads the data set into the app at `url` and waits until its feed shows it.
pub(crate) async fn load(url: &str, keys: Option<&Keys>, console: &Console) -> anyhow::Result<()> {
    let data: DataSet = serde_json::from_str(include_str!("../demo/blog.json"))
        .context("the demo's data set cannot be read")?;
    let api = Api::new(url, keys.map(|keys| keys.function.clone()));
    console.info(&format!("Demo: {} people", data.users.len()));
    for user in &data.users {
        api.create(&format!("users/{}", user.id), &json!({ "username": user.username })).await?;
    }
    for (index, post) in data.posts.iter().enumerate() {
        load_post(&api, post).await?;
        if (index + 1) % 10 == 0 {
            console.info(&format!("Demo: {} of {} posts", index + 1, data.posts.len()));
        }
    }
    let Rename { user, to } = &data.rename;
    console.info(&format!("Demo: {user} is now called {to}"));
    api.put(&format!("users/{user}"), &json!({ "username": to })).await?;
    console.info("Demo: waiting until the feed shows it all");
    wait_for_feed(&api, &data).await?;
    console.success(&format!("Demo: try {url}/api/feed?limit=5"));
    Ok(())
}

async fn load_post(api: &Api, post: &Post) -> anyhow::Result<()> {
    let path = format!("posts/{}", post.id);
    let body = json!({ "userId": post.by, "title": post.title, "content": post.content });
    api.create(&path, &body).await?;
    for (index, comment) in post.comments.iter().enumerate() {
        let key = format!("demo-{index}");
        let body = json!({ "userId": comment.by, "content": comment.text });
        api.post(&format!("{path}/comments"), &key, &body).await?;
    }
    for user in &post.likes {
        api.put(&format!("{path}/likes/{user}"), &Value::Null).await?;
    }
    Ok(())
}

async fn wait_for_feed(api: &Api, data: &DataSet) -> anyhow::Result<()> {
    let started = Instant::now();
    loop {
        let feed = api.get("feed").await?;
        let items = feed["items"].as_array().map_or(&[][..], Vec::as_slice);
        let Some(missing) = data.posts.iter().find(|post| !is_shown(post, &data.rename, items))
        else {
            return Ok(());
        };
        if started.elapsed() > FEED_DEADLINE {
            bail!(
                "the feed does not show the demo's post {} as it is after {} s: see above for \
                 failed invocations",
                missing.id,
                FEED_DEADLINE.as_secs()
            );
        }
        tokio::time::sleep(FEED_INTERVAL).await;
    }
}

/// The feed has the post with all its counts, and with the author's new name.
fn is_shown(post: &Post, rename: &Rename, items: &[Value]) -> bool {
    let count = |item: &Value, name: &str| item[name].as_u64().unwrap_or_default();
    items.iter().any(|item| {
        item["id"] == post.id
            && count(item, "commentCount") >= post.comments.len() as u64
            && count(item, "likeCount") >= post.likes.len() as u64
            && (post.by != rename.user || item["userUsername"] == rename.to)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_data_set_refers_only_to_what_it_creates() {
        let data: DataSet = serde_json::from_str(include_str!("../demo/blog.json")).unwrap();
        let users: BTreeSet<_> = data.users.iter().map(|user| &user.id).collect();
        let posts: BTreeSet<_> = data.posts.iter().map(|post| &post.id).collect();
        assert_eq!((users.len(), posts.len()), (data.users.len(), data.posts.len()));
        assert!(users.contains(&data.rename.user));
        assert!(data.posts.iter().any(|post| post.by == data.rename.user));
        for post in &data.posts {
            assert!(users.contains(&post.by));
            assert!(post.comments.iter().all(|comment| users.contains(&comment.by)));
            let likes: BTreeSet<_> = post.likes.iter().collect();
            assert_eq!(likes.len(), post.likes.len(), "{}", post.id);
            assert!(likes.is_subset(&users));
        }
    }

    #[test]
    fn a_post_is_shown_with_its_counts_and_the_new_name() {
        let data: DataSet = serde_json::from_str(include_str!("../demo/blog.json")).unwrap();
        let post = data.posts.iter().find(|post| post.by == data.rename.user).unwrap();
        let item = |name: &str, likes: usize| {
            json!({ "id": post.id, "commentCount": post.comments.len(), "likeCount": likes,
                    "userUsername": name })
        };
        let (new, likes) = (data.rename.to.as_str(), post.likes.len());
        assert!(is_shown(post, &data.rename, &[item(new, likes)]));
        assert!(is_shown(post, &data.rename, &[item(new, likes + 1)]));
        assert!(!is_shown(post, &data.rename, &[item("before", likes)]));
        assert!(!is_shown(post, &data.rename, &[]));
    }
}
