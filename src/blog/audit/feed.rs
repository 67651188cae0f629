//! Checks of `feed`: its head, its members, and their copies.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::{
    Kinds,
    checks::BlogChecks,
    copies::{compare, version},
};
use crate::{
    audit::{Finding, Kind, Slot, Suspect, Target, read},
    blog::{
        model::{Post, PostCopy, PostsItem},
        projections::NewestPosts,
    },
    cosmos::{Query, Scope, StoreError, Stored},
    projection::window::{Member, Window, WindowHead, newest},
};

/// How many copies are checked: ten times as many as the feed should have. What is beyond is
/// found by the next audit.
const COPIES: u32 = 1_000;

/// How many items a page has.
const PAGE: u32 = 100;

impl BlogChecks {
    /// Compares the whole feed with the newest posts. The posts are read first, then the head, then
    /// the copies.
    ///
    /// A member that 100 posts are newer than needs no finding of its own: one of those posts is
    /// missing then, and takes its place.
    pub(super) async fn check_feed(&self) -> Result<Vec<Suspect>, StoreError> {
        let newest = self.newest_posts().await?;
        let (head, head_etag) =
            match read::<WindowHead>(&self.blog.feed, NewestPosts::PARTITION, WindowHead::ID)
                .await?
            {
                Slot::Item(Stored { item, etag }) => (item, etag.to_string()),
                Slot::Empty => (WindowHead::default(), String::new()),
                Slot::Unreadable(etag) => {
                    let words = ("the head of the feed", "something else");
                    return Ok(vec![suspect(
                        Kind::UNREADABLE,
                        WindowHead::ID,
                        words,
                        etag.to_string(),
                    )]);
                }
            };
        let mut copies = self.copies_in_feed().await?;

        let mut suspects = Vec::new();
        if head.refill {
            let words = ("a feed that is filled up", "a note to fill it up");
            suspects.push(suspect(Kinds::REFILL_PENDING, WindowHead::ID, words, head_etag));
        }
        for expected in &newest {
            let id = &expected.public.id;
            let member = member_of(expected);
            // Tells the post from others under this id, earlier and later ones.
            let date = member.creation_date.to_string();
            if let Some(found) = head.members().iter().find(|member| member.id == *id) {
                if *found != member {
                    let found = found.creation_date.to_string();
                    let evidence = format!("{date} {found}");
                    suspects.push(suspect(Kinds::MEMBER_DIFFERENT, id, (date, found), evidence));
                }
                suspects.extend(check_member(expected, copies.remove(id)));
            } else if head.admits(&member, NewestPosts::CAPACITY as usize) && !head.refill {
                let words = (version(expected.version), "no member");
                suspects.push(suspect(Kinds::MEMBER_MISSING, id, words, date));
            }
        }
        let others = head.members().iter().filter(|m| newest.iter().all(|n| n.public.id != m.id));
        for Member { id, creation_date } in others {
            let copy = copies.remove(id);
            match read::<PostsItem>(&self.blog.posts, id, id).await? {
                Slot::Item(Stored { item: PostsItem::Post(post), .. }) => {
                    suspects.extend(check_member(&PostCopy::for_feed(&post), copy));
                }
                Slot::Unreadable(_) => {}
                _ => suspects.push(suspect(
                    Kinds::MEMBER_EXTRA,
                    id,
                    ("no member", "a member, but no post"),
                    creation_date.to_string(),
                )),
            }
        }
        // Copies of no members come first: one may stand where a post has to be taken in.
        let strays = copies.into_iter().map(|(id, copy)| match copy {
            Copy { item: Some(copy), etag, .. } => {
                let words = ("none".to_owned(), format!("{} of no member", version(copy.version)));
                suspect(Kind::COPY_EXTRA, &id, words, etag)
            }
            Copy { item: None, etag, .. } => {
                suspect(Kind::UNREADABLE, &id, ("a copy of a post", "something else"), etag)
            }
        });
        Ok(strays.chain(suspects).collect())
    }

    /// The newest posts as the feed should have them.
    async fn newest_posts(&self) -> Result<Vec<PostCopy>, StoreError> {
        // The content is cut at once: 100 posts may have 50 MB.
        let short = |post: Value| {
            let post = serde_json::from_value::<Post>(post).ok()?;
            Some(PostCopy::for_feed(&post))
        };
        newest::<NewestPosts, _, _>(&self.blog.posts, short, member_of).await
    }

    /// The copies in the feed, by id, without the tombstones of deleted posts.
    async fn copies_in_feed(&self) -> Result<HashMap<String, Copy>, StoreError> {
        let query = Query::from("SELECT TOP @copies * FROM c WHERE IS_DEFINED(c.creationDate)")
            .with_parameter("@copies", COPIES)?;
        let scope = Scope::Partition(NewestPosts::PARTITION);
        let items: Vec<Value> = self.blog.feed.query(query, scope, PAGE).await?;
        let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let copies = items.into_iter().map(|item| {
            let (id, etag) = (text(&item, "id"), text(&item, "_etag"));
            (id, Copy { item: PostCopy::deserialize(&item).ok(), stored: item, etag })
        });
        Ok(copies.collect())
    }
}

fn member_of(copy: &PostCopy) -> Member {
    Member { creation_date: copy.public.creation_date, id: copy.public.id.clone() }
}

/// A copy in the feed, if it can be read, and as it is stored.
struct Copy {
    item: Option<PostCopy>,
    stored: Value,
    etag: String,
}

fn check_member(expected: &PostCopy, copy: Option<Copy>) -> Option<Suspect> {
    let id = &expected.public.id;
    match copy {
        Some(Copy { item: Some(found), stored, etag }) => {
            compare(expected, &found, &stored).map(|(kind, words)| suspect(kind, id, words, etag))
        }
        Some(Copy { item: None, etag, .. }) => {
            Some(suspect(Kind::UNREADABLE, id, ("a copy of a post", "something else"), etag))
        }
        None => {
            let words = (version(expected.version), "none");
            Some(suspect(Kind::COPY_MISSING, id, words, expected.public.creation_date.to_string()))
        }
    }
}

fn suspect(
    kind: Kind,
    id: &str,
    (expected, found): (impl Into<String>, impl Into<String>),
    evidence: impl Into<String>,
) -> Suspect {
    let finding = Finding {
        kind,
        container: "feed",
        partition_key: NewestPosts::PARTITION.to_owned(),
        id: id.to_owned(),
        expected: expected.into(),
        found: found.into(),
        repair: None,
    };
    Suspect { target: Target::Group("feed"), finding, evidence: evidence.into() }
}
