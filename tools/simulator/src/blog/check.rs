//! The comparison of every query with the model, after quiet.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use serde_json::Value;

use super::{
    Blog, post_id, post_path,
    reactions::{Presence, Reaction},
    user_id, user_path,
};
use crate::{
    api::{Comparison, listed, text},
    copies::SOURCE,
};

/// The number of posts in the feed, and the length of a content in a short post.
const FEED_POSTS: usize = 100;
const SUMMARY_CHARS: usize = 200;

impl Blog {
    pub(super) async fn check_users(&self, it: &mut Comparison<'_>) {
        let mut names = BTreeSet::new();
        for user in 0..self.users.len() {
            let shown = it.get(&user_path(user)).await.unwrap_or_default();
            let name = shown["username"].as_str();
            it.same(&format!("name of {}", user_id(user)), name, self.name(user));
            if let Some(name) = name {
                let is_new = names.insert(name.to_lowercase());
                it.is(&format!("only {} is {name}", user_id(user)), is_new);
            }
        }
    }

    /// Q2, Q4, Q5: the posts with their comments and likes. Returns the posts of the answers.
    pub(super) async fn check_posts(&self, it: &mut Comparison<'_>) -> Vec<Value> {
        let mut all = Vec::new();
        for (number, post) in self.posts.iter().enumerate() {
            let what = post_id(number);
            let shown = it.get(&post_path(number)).await;
            let (text, shown) = match (post.text.now(), shown) {
                (None, None) => continue,
                (Some(text), Some(shown)) => (text, shown),
                (expected, shown) => {
                    it.same(&format!("{what} exists"), shown.is_some(), expected.is_some());
                    continue;
                }
            };
            for (field, expected) in [
                ("title", Value::from(&*text.title)),
                ("content", Value::from(&*text.content)),
                ("creationDate", text.creation_date.clone()),
                ("userId", user_id(text.author).into()),
            ] {
                it.same(&format!("{field} of {what}"), &shown[field], &expected);
            }
            self.check_name(it, &what, &shown);
            self.check_reactions(it, number, "comments", &shown["commentCount"]).await;
            self.check_reactions(it, number, "likes", &shown["likeCount"]).await;
            all.push(shown);
        }
        all
    }

    async fn check_reactions(
        &self,
        it: &mut Comparison<'_>,
        post: usize,
        kind: &str,
        count: &Value,
    ) {
        let (is_comment, key) = if kind == "likes" { (false, "userId") } else { (true, "id") };
        let of_list = self
            .reactions
            .iter()
            .filter(|reaction| reaction.post == post && reaction.content.is_some() == is_comment);
        let expected: HashMap<&str, &Reaction> =
            of_list.filter_map(|reaction| Some((reaction.id.as_deref()?, reaction))).collect();
        let what = format!("{kind} of {}", post_id(post));
        let list = it.list(&format!("{}/{kind}", post_path(post))).await;
        it.same(&format!("count of {what}"), count, &list.len().into());
        let mut keys: Vec<_> =
            list.iter().map(|item| (text(item, "creationDate"), text(item, "id"))).collect();
        if kind == "likes" {
            keys.reverse();
        }
        it.is(&format!("the {what} are in order"), keys.is_sorted());
        let mut seen = BTreeSet::new();
        for item in &list {
            let id = text(item, key);
            it.is(&format!("{id} is listed once among the {what}"), seen.insert(id));
            match expected.get(id) {
                None | Some(Reaction { presence: Presence::Absent, .. }) => {
                    it.differs(format!("{id} is among the {what}, but must not"));
                }
                Some(Reaction { user, content, .. }) => {
                    it.same(&format!("user of {what}"), text(item, "userId"), &user_id(*user));
                    if let Some(content) = content {
                        it.same(&format!("content of {what}"), text(item, "content"), content);
                    }
                    self.check_name(it, &what, item);
                }
            }
        }
        for (id, reaction) in expected {
            if reaction.presence == Presence::Present && !seen.contains(id) {
                it.differs(format!("{id} was acknowledged, but is not among the {what}"));
            }
        }
    }

    /// Q3 and Q6: the posts in short form, newest first.
    pub(super) async fn check_copies(&self, it: &mut Comparison<'_>, posts: &[Value]) {
        let mut newest: Vec<Value> = posts.iter().map(short).collect();
        newest.sort_by_key(|post| {
            Reverse((text(post, "creationDate").to_owned(), text(post, "id").to_owned()))
        });
        for user in (0..self.users.len()).filter(|user| self.name(*user).is_some()) {
            let id = user_id(user);
            let list = it.list(&format!("{}/posts", user_path(user))).await;
            let own =
                newest.iter().filter(|post| post["userId"] == id).cloned().collect::<Vec<_>>();
            Self::check_list(it, &format!("posts of {id}"), &list, &own);
        }
        let feed = it.get("/api/feed?limit=100").await.unwrap_or_default();
        let mut feed = listed(&feed).to_vec();
        // They are older than all posts of clients.
        feed.retain(|post| !text(post, "id").starts_with(SOURCE));
        newest.truncate(FEED_POSTS);
        if newest.len().saturating_sub(feed.len()) <= self.poisoned {
            newest.truncate(feed.len());
        }
        Self::check_list(it, "the feed", &feed, &newest);
    }

    fn check_name(&self, it: &mut Comparison<'_>, what: &str, item: &Value) {
        let id = text(item, "userId");
        let user = (0..self.users.len()).find(|user| user_id(*user) == id);
        let name = user.and_then(|user| self.name(user));
        it.same(&format!("name of {id} in {what}"), item["userUsername"].as_str(), name);
    }

    fn check_list(it: &mut Comparison<'_>, what: &str, list: &[Value], expected: &[Value]) {
        let ids = |list: &[Value]| -> Vec<String> {
            list.iter().map(|item| text(item, "id").to_owned()).collect()
        };
        if ids(list) != ids(expected) {
            return it.same(what, ids(list), ids(expected));
        }
        for (item, expected) in list.iter().zip(expected) {
            it.same(what, item, expected);
        }
    }
}

fn short(post: &Value) -> Value {
    let mut short = post.clone();
    // All contents of the simulator are ASCII.
    if let Some((kept, cut)) = text(post, "content").split_at_checked(SUMMARY_CHARS)
        && !cut.is_empty()
    {
        short["content"] = format!("{kept}…").into();
    }
    short
}
