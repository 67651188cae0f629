//! The comparison of every query with the model, after quiet.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::{
    Blog,
    operation::{user_id, user_path},
    reactions::Presence,
};
use crate::{Api, comparison::Comparison, workload::BYSTANDER};

/// The number of posts in the feed, and the length of a content in a short post.
const FEED_POSTS: usize = 100;
const SUMMARY_CHARS: usize = 200;

/// Sends Q1 to Q6 for all items and returns the differences from the model, a sentence each.
pub(super) async fn check(api: &dyn Api, model: &Blog) -> Vec<String> {
    let mut check = BlogCheck { model, it: Comparison::new(api) };
    check.users().await;
    let posts = check.posts().await;
    check.copies(&posts).await;
    check.it.end()
}

struct BlogCheck<'a> {
    model: &'a Blog,
    it: Comparison<'a>,
}

impl BlogCheck<'_> {
    /// Q1: every user has its last acknowledged name, and no two users have one name.
    async fn users(&mut self) {
        let mut keys: HashMap<String, usize> = HashMap::new();
        for (number, user) in self.model.users.iter().enumerate() {
            let shown = self.it.get(&user_path(number)).await;
            let name = shown.as_ref().and_then(|shown| shown["username"].as_str());
            self.it.same(&format!("name of {}", user_id(number)), &name, &user.name.as_deref());
            if let Some(name) = name
                && let Some(other) = keys.insert(name.to_lowercase(), number)
            {
                self.it.differs(format!(
                    "{} and {} are both {name}",
                    user_id(other),
                    user_id(number)
                ));
            }
        }
    }

    /// Q2, Q4, Q5: the posts with their comments and likes. Returns the posts of the answers.
    async fn posts(&mut self) -> Vec<Value> {
        let mut all = Vec::new();
        for (number, post) in self.model.posts.iter().enumerate() {
            let what = self.model.post_id(number);
            let shown = self.it.get(&self.model.post_path(number)).await;
            let (text, shown) = match (&post.text, shown) {
                (None, None) => continue,
                (Some(text), Some(shown)) => (text, shown),
                (Some(_), None) => {
                    self.it.differs(format!("{what} was acknowledged and is missing"));
                    continue;
                }
                (None, Some(_)) => {
                    self.it.differs(format!("{what} was deleted and exists"));
                    continue;
                }
            };
            self.it.same(&format!("title of {what}"), &shown["title"], &text.title.as_str().into());
            let content = text.content.as_str().into();
            self.it.same(&format!("content of {what}"), &shown["content"], &content);
            self.it.same(&format!("date of {what}"), &shown["creationDate"], &text.creation_date);
            self.it.same(
                &format!("author of {what}"),
                &shown["userId"],
                &user_id(text.author).into(),
            );
            self.name(&what, &shown);
            self.comments(number, &shown).await;
            self.likes(number, &shown).await;
            all.push(shown);
        }
        all
    }

    async fn comments(&mut self, post: usize, shown: &Value) {
        let what = format!("comments on {}", self.model.post_id(post));
        let list = self.it.list(&format!("{}/comments", self.model.post_path(post))).await;
        self.it.same(&format!("count of {what}"), &shown["commentCount"], &list.len().into());
        self.sorted(&what, &list, false);
        let comments = self.model.comments.iter().filter(|comment| comment.post == post);
        let comments = comments.filter_map(|comment| {
            let expected = (comment.user, Some(comment.content.as_str()));
            Some((comment.id.clone()?, (comment.reaction.presence, expected)))
        });
        self.reactions(&what, "id", &list, &comments.collect());
    }

    /// Compares the list of likes of a post, and their count, with the model.
    async fn likes(&mut self, post: usize, shown: &Value) {
        let what = format!("likes of {}", self.model.post_id(post));
        let list = self.it.list(&format!("{}/likes", self.model.post_path(post))).await;
        self.it.same(&format!("count of {what}"), &shown["likeCount"], &list.len().into());
        self.sorted(&what, &list, true);
        let likes = self.model.likes.iter().filter(|((of, _), _)| *of == post);
        let likes = likes.map(|((_, user), like)| (user_id(*user), (like.presence, (*user, None))));
        self.reactions(&what, "userId", &list, &likes.collect());
    }

    /// Checks that all certain reactions exist, and only possible ones.
    fn reactions(
        &mut self,
        what: &str,
        key: &str,
        list: &[Value],
        expected: &HashMap<String, (Presence, (usize, Option<&str>))>,
    ) {
        let mut seen = BTreeSet::new();
        for item in list {
            let id = item[key].as_str().unwrap_or_default();
            if !seen.insert(id) {
                self.it.differs(format!("{id} is listed twice among the {what}"));
            }
            match expected.get(id) {
                None | Some((Presence::Absent, _)) => {
                    self.it.differs(format!("{id} is among the {what}, but must not"));
                }
                Some((_, (user, content))) => {
                    self.it.same(
                        &format!("user of {what}"),
                        &item["userId"],
                        &user_id(*user).into(),
                    );
                    if let Some(content) = content {
                        self.it.same(
                            &format!("content of {what}"),
                            &item["content"],
                            &(*content).into(),
                        );
                    }
                    self.name(what, item);
                }
            }
        }
        for (id, (presence, _)) in expected {
            if *presence == Presence::Present && !seen.contains(id.as_str()) {
                self.it.differs(format!("{id} was acknowledged, but is not among the {what}"));
            }
        }
    }

    /// Q3 and Q6: the posts in short form, newest first.
    async fn copies(&mut self, posts: &[Value]) {
        let mut newest: Vec<&Value> = posts.iter().collect();
        newest
            .sort_by_key(|post| std::cmp::Reverse((text(post, "creationDate"), text(post, "id"))));
        for user in 0..self.model.users.len() {
            if self.model.users[user].name.is_none() {
                continue;
            }
            let id = user_id(user);
            let list = self.it.list(&format!("{}/posts", user_path(user))).await;
            let own = newest.iter().filter(|post| post["userId"] == *id);
            let own: Vec<Value> = own.map(|post| short(post)).collect();
            self.same_list(&format!("posts of {id}"), &list, &own);
        }
        let feed = self.it.get("/api/feed?limit=100").await.unwrap_or_default();
        let mut feed = feed["items"].as_array().cloned().unwrap_or_default();
        // They are older than all posts of clients.
        feed.retain(|post| !text(post, "id").starts_with(BYSTANDER));
        let mut expected: Vec<Value> =
            newest.iter().take(FEED_POSTS).map(|post| short(post)).collect();
        if expected.len() - feed.len().min(expected.len()) <= self.model.poisoned {
            expected.truncate(feed.len());
        }
        self.same_list("the feed", &feed, &expected);
    }

    /// Checks that a copied name is that of its user.
    fn name(&mut self, what: &str, item: &Value) {
        let id = text(item, "userId");
        let number = id.strip_prefix('u').and_then(|number| number.parse::<usize>().ok());
        let user = number.and_then(|number| self.model.users.get(number));
        let name = user.and_then(|user| user.name.as_deref());
        self.it.same(&format!("name of {id} in {what}"), &item["userUsername"].as_str(), &name);
    }

    fn sorted(&mut self, what: &str, list: &[Value], newest_first: bool) {
        let mut keys: Vec<_> =
            list.iter().map(|item| (text(item, "creationDate"), text(item, "id"))).collect();
        if newest_first {
            keys.reverse();
        }
        if !keys.is_sorted() {
            self.it.differs(format!("the {what} are not in order"));
        }
    }

    fn same_list(&mut self, what: &str, list: &[Value], expected: &[Value]) {
        let ids = |list: &[Value]| -> Vec<String> {
            list.iter().map(|item| text(item, "id").to_owned()).collect()
        };
        if ids(list) != ids(expected) {
            self.it.same(what, &ids(list), &ids(expected));
            return;
        }
        for (item, expected) in list.iter().zip(expected) {
            self.it.same(what, item, expected);
        }
    }
}

/// Returns the short form of a post.
fn short(post: &Value) -> Value {
    let mut short = post.clone();
    let content = text(post, "content");
    // All contents of the simulator are ASCII.
    if let Some((kept, cut)) = content.split_at_checked(SUMMARY_CHARS)
        && !cut.is_empty()
    {
        short["content"] = format!("{kept}…").into();
    }
    short
}

fn text<'a>(item: &'a Value, field: &str) -> &'a str {
    item[field].as_str().unwrap_or_default()
}
