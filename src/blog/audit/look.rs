//! Looking at an item: what it says is held against what it was made from, or what was made of it.

use quick_cache::sync::Cache;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::finding::{Finding, Kind, Suspect, Target};
use crate::{
    blog::{
        Blog,
        model::{Author, PostId, PostsItem, UserId, UsersItem},
    },
    cosmos::{Container, ETag, StoreError, Stored},
    values::Timestamp,
};

/// How many users and how many posts are remembered between two looks; some 200 bytes each.
const REMEMBERED: usize = 10_000;

/// Looks at items. What it remembers of users and posts may be old: that can only raise a
/// suspicion, and a suspect is looked at again with `fresh` eyes.
pub(super) struct Looker {
    pub(super) blog: Blog,
    authors: Cache<UserId, Option<Author>>,
    parents: Cache<PostId, Parent>,
}

/// What comments, likes and copies need to know of their post.
#[derive(Debug, Clone)]
pub(super) enum Parent {
    Live {
        user_id: UserId,
        created: Timestamp,
    },
    Gone,
    /// It is there, but cannot be read.
    Unknown,
}

/// An item that was read, if its text made sense.
pub(super) enum Slot<T> {
    Empty,
    Unreadable(ETag),
    Item(Stored<T>),
}

impl Looker {
    pub(super) fn new(blog: Blog) -> Self {
        Self { blog, authors: Cache::new(REMEMBERED), parents: Cache::new(REMEMBERED) }
    }

    /// Looks again at where a suspect was seen.
    pub(super) async fn look_again(&self, target: &Target) -> Result<Vec<Suspect>, StoreError> {
        match target {
            Target::Feed => self.look_at_feed().await,
            Target::Item { container, partition_key, id } => {
                let container = self.container(container);
                let stored = container.read::<Value>(partition_key, id).await?;
                match stored {
                    Some(Stored { item, .. }) => self.look(container, &item, true).await,
                    None => Ok(Vec::new()),
                }
            }
        }
    }

    /// Looks at an item as a query or a read gives it.
    pub(super) async fn look(
        &self,
        container: &Container,
        item: &Value,
        fresh: bool,
    ) -> Result<Vec<Suspect>, StoreError> {
        let name = container.id();
        let raw = Raw::of(name, item);
        let suspects = if name == self.blog.posts.id() {
            match PostsItem::deserialize(item) {
                Ok(item) => self.look_at_posts_item(item, &raw, fresh).await?,
                Err(_) => vec![raw.unreadable()],
            }
        } else {
            match UsersItem::deserialize(item) {
                Ok(item) => self.look_at_users_item(item, &raw, fresh).await?,
                Err(_) => vec![raw.unreadable()],
            }
        };
        Ok(suspects)
    }

    /// The name and version of a user; `None` when there is none.
    pub(super) async fn author(
        &self,
        user_id: &UserId,
        fresh: bool,
    ) -> Result<Slot<Author>, StoreError> {
        let of = |author| Slot::Item(Stored { item: author, etag: ETag::from("") });
        if !fresh && let Some(known) = self.authors.get(user_id) {
            return Ok(known.map_or(Slot::Empty, of));
        }
        let known = match read(&self.blog.users, user_id.as_str(), user_id.as_str()).await? {
            Slot::Item(Stored { item: UsersItem::User(user), .. }) => Some(user.author()),
            Slot::Unreadable(etag) => return Ok(Slot::Unreadable(etag)),
            Slot::Item(_) | Slot::Empty => None,
        };
        self.authors.insert(user_id.clone(), known.clone());
        Ok(known.map_or(Slot::Empty, of))
    }

    /// What is known of a post.
    pub(super) async fn parent(&self, id: &PostId, fresh: bool) -> Result<Parent, StoreError> {
        if !fresh && let Some(known) = self.parents.get(id) {
            return Ok(known);
        }
        let parent = match read(&self.blog.posts, id.as_str(), id.as_str()).await? {
            Slot::Item(Stored { item, .. }) => parent_of(&item),
            Slot::Unreadable(_) => Parent::Unknown,
            Slot::Empty => Parent::Gone,
        };
        self.parents.insert(id.clone(), parent.clone());
        Ok(parent)
    }

    /// Remembers a post that was read for its own sake.
    pub(super) fn remember(&self, id: &PostId, item: &PostsItem) {
        self.parents.insert(id.clone(), parent_of(item));
    }

    fn container(&self, name: &str) -> &Container {
        if name == self.blog.posts.id() { &self.blog.posts } else { &self.blog.users }
    }
}

fn parent_of(item: &PostsItem) -> Parent {
    match item {
        PostsItem::Post(post) => Parent::Live {
            user_id: post.public.user_id.clone(),
            created: post.public.creation_date,
        },
        PostsItem::DeletedPost(_) | PostsItem::Comment(_) | PostsItem::Like(_) => Parent::Gone,
    }
}

/// Reads an item, of which nothing is expected: one broken item must not end the audit.
pub(super) async fn read<T: DeserializeOwned>(
    container: &Container,
    partition_key: &str,
    id: &str,
) -> Result<Slot<T>, StoreError> {
    Ok(match container.read::<Value>(partition_key, id).await? {
        None => Slot::Empty,
        Some(Stored { item, etag }) => match serde_json::from_value(item) {
            Ok(item) => Slot::Item(Stored { item, etag }),
            Err(_) => Slot::Unreadable(etag),
        },
    })
}

/// What every item has, whatever else is in it.
pub(super) struct Raw {
    container: &'static str,
    pub(super) partition_key: String,
    pub(super) id: String,
    pub(super) etag: String,
}

impl Raw {
    fn of(container: &'static str, item: &Value) -> Self {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let partition_key = text(if container == "posts" { "postId" } else { "userId" });
        Self { container, partition_key, id: text("id"), etag: text("_etag") }
    }

    /// A suspicion against this item.
    pub(super) fn suspect(
        &self,
        kind: Kind,
        (expected, found): (impl Into<String>, impl Into<String>),
        evidence: impl Into<String>,
    ) -> Suspect {
        let at = (self.container, self.partition_key.clone(), self.id.clone());
        self.suspect_at(kind, at, (expected, found), evidence)
    }

    /// A suspicion against what was made of this item.
    pub(super) fn suspect_at(
        &self,
        kind: Kind,
        (container, partition_key, id): (&'static str, String, String),
        (expected, found): (impl Into<String>, impl Into<String>),
        evidence: impl Into<String>,
    ) -> Suspect {
        let target = Target::Item {
            container: self.container,
            partition_key: self.partition_key.clone(),
            id: self.id.clone(),
        };
        let (expected, found) = (expected.into(), found.into());
        let finding = Finding { kind, container, partition_key, id, expected, found, repair: None };
        Suspect { target, finding, evidence: evidence.into() }
    }

    fn unreadable(&self) -> Suspect {
        let words = (format!("an item of {}", self.container), "something else");
        self.suspect(Kind::Unreadable, words, &self.etag)
    }
}
