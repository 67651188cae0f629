//! The feed: the 100 newest posts, all in one logical partition.
//!
//! Which posts are members is decided in one place, the head of the feed: an item that lists them.
//! Whoever changes the membership replaces the head under its ETag in the same transaction that
//! writes or deletes the copies, so all changes of the membership happen one after the other.

use serde::{Deserialize, Serialize};

use super::{DeletedPost, Post};
use crate::values::Timestamp;

/// How many posts the feed holds (seed article, request Q6).
pub const FEED_CAPACITY: usize = 100;

/// The id of the head. No id of a post begins with a tilde.
pub const HEAD_ID: &str = "~head";

/// The list of the feed's members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedHead {
    id: String,
    /// Newest first; at most [`FEED_CAPACITY`].
    members: Vec<Member>,
    /// Whether the feed has to be filled up from the posts, because a member of the full feed was
    /// deleted and the posts that follow are not known here. While it is false, the members are
    /// exactly the newest of all posts whose creation has been delivered. While it is true, only
    /// the refill admits posts.
    pub refill: bool,
}

/// A post as the head knows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// When the post was created: what the feed is sorted by.
    pub creation_date: Timestamp,
    /// The post's id: what decides between posts of the same millisecond.
    pub id: String,
}

/// A change of the membership.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The head after the change.
    pub head: FeedHead,
    /// The ids of the posts that leave the feed.
    pub evicted: Vec<String>,
}

impl Default for FeedHead {
    fn default() -> Self {
        Self { id: HEAD_ID.into(), members: Vec::new(), refill: false }
    }
}

impl FeedHead {
    /// The members, newest first.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether a post is a member under any date.
    pub fn contains(&self, id: &str) -> bool {
        self.members.iter().any(|member| member.id == id)
    }

    /// Whether a post is a member. A post that was deleted and created again is not the member that
    /// it was: it has a new date.
    pub fn holds(&self, member: &Member) -> bool {
        self.members.contains(member)
    }

    /// Whether there is no more room.
    pub fn is_full(&self) -> bool {
        self.members.len() == FEED_CAPACITY
    }

    /// Whether a post that is not a member belongs into the feed. None does while the feed is to be
    /// refilled: a late older version of a post could come in where the newest one did not.
    pub fn admits(&self, member: &Member) -> bool {
        !self.refill
            && !self.holds(member)
            && (!self.is_full() || self.members.last().is_some_and(|oldest| member > oldest))
    }

    /// Takes a post in, in the place of an earlier one with its id; the oldest beyond the capacity
    /// leaves.
    pub fn admit(&self, member: Member) -> Plan {
        let mut members = self.members.clone();
        members.retain(|known| known.id != member.id);
        members.push(member);
        members.sort_unstable_by(|a, b| b.cmp(a));
        let evicted = members.split_off(members.len().min(FEED_CAPACITY));
        Plan {
            head: Self { members, ..self.clone() },
            evicted: evicted.into_iter().map(|member| member.id).collect(),
        }
    }

    /// Crosses the note out that the feed has to be filled up.
    pub fn filled(&self) -> Self {
        Self { refill: false, ..self.clone() }
    }

    /// Takes a deleted post out.
    pub fn remove(&self, id: &str) -> Self {
        let mut head = self.clone();
        head.members.retain(|member| member.id != id);
        head.refill |= self.is_full() && !head.is_full();
        head
    }
}

impl Member {
    /// A post as the head knows it.
    pub fn of(post: &Post) -> Self {
        Self { creation_date: post.public.creation_date, id: post.public.id.clone() }
    }
}

/// An item of the container `feed`: a [`super::PostCopy`], a [`FeedMark`] or the [`FeedHead`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct InFeed<T> {
    r#type: PostType,
    /// The item.
    #[serde(flatten)]
    pub item: T,
}

/// The partition key of all items.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum PostType {
    Post,
}

/// The partition key of all items of the feed, as text.
pub const FEED_PARTITION: &str = "post";

impl<T> InFeed<T> {
    /// Puts an item into the one logical partition of the feed.
    pub fn new(item: T) -> Self {
        Self { r#type: PostType::Post, item }
    }
}

/// The mark that a deleted post leaves in the feed. It has no `creationDate`, so readers do not
/// see it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FeedMark {
    id: String,
    /// The version of the [`DeletedPost`].
    pub version: u64,
    ttl: u32,
}

impl From<&DeletedPost> for FeedMark {
    fn from(deleted: &DeletedPost) -> Self {
        Self { id: deleted.post_id.to_string(), version: deleted.version, ttl: deleted.ttl }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// A post in its nth life.
    fn member(post: u16, life: u16) -> Member {
        let second = (post + life * 3) % 10; // Many share a moment, so that ids decide.
        Member {
            creation_date: Timestamp::parse(&format!("2026-11-21T09:25:0{second}.120Z")).unwrap(),
            id: format!("p{post}"),
        }
    }

    fn newest(posts: &BTreeMap<u16, u16>) -> Vec<Member> {
        let mut members: Vec<_> = posts.iter().map(|(post, life)| member(*post, *life)).collect();
        members.sort_unstable_by(|a, b| b.cmp(a));
        members.truncate(FEED_CAPACITY);
        members
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_members_are_the_newest_whatever_the_order_of_deliveries(
            steps in vec((any::<bool>(), 0u16..300), 0..400),
        ) {
            let (mut existing, mut lives) = (BTreeMap::new(), BTreeMap::<u16, u16>::new());
            let mut head = FeedHead::default();
            for (deletes, post) in steps {
                if deletes {
                    existing.remove(&post);
                    head = head.remove(&format!("p{post}"));
                } else {
                    // The post may be there: it was deleted in between, and nobody was told.
                    let life = lives.entry(post).and_modify(|life| *life += 1).or_default();
                    let earlier = existing.insert(post, *life).map(|life| member(post, life));
                    let member = member(post, *life);
                    // Time goes on: a later life is not older than an earlier one.
                    if earlier.is_some_and(|earlier| earlier > member) {
                        *life -= 1;
                        existing.insert(post, *life);
                        continue;
                    }
                    if head.admits(&member) {
                        let plan = head.admit(member);
                        prop_assert!(plan.evicted.len() <= 1);
                        head = plan.head;
                    }
                }
                if head.refill {
                    head = head.filled();
                    for member in newest(&existing) {
                        if head.admits(&member) {
                            head = head.admit(member).head;
                        }
                    }
                }
                prop_assert_eq!(&head.members, &newest(&existing));
            }
        }
    }
}
