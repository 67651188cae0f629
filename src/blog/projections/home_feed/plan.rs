//! What a group of changes makes of the feed: pure.

use std::collections::HashMap;

use super::super::PostState;
use crate::{
    blog::model::{FeedHead, Member},
    cosmos::ETag,
    projection::{Copied, Effect, Place},
};

/// What is to be done in one transaction.
pub(super) struct Plan<'a> {
    /// The head afterwards.
    pub(super) after: FeedHead,
    /// Of each post, in order.
    pub(super) effects: Vec<Effect>,
    /// The posts whose copy or tombstone is written, and over what.
    pub(super) writes: Vec<(&'a PostState, Option<ETag>)>,
    /// Whether the writes hold only under the head as it was read.
    pub(super) needs_head: bool,
    /// The ids of the members for which there is no more room.
    pub(super) leave: Vec<String>,
}

/// Whether a post may have to be written.
pub(super) fn concerns(head: &FeedHead, post: &PostState) -> bool {
    match post {
        PostState::Live(post) => {
            let member = Member::of(post);
            head.holds(&member) || head.admits(&member)
        }
        PostState::Deleted(_) => true,
    }
}

/// Takes each post in, updates it, or takes it out, one after the other; then those that are out
/// again need not be written.
pub(super) fn plan<'a>(
    head: &FeedHead,
    posts: &'a [PostState],
    copies: &HashMap<String, Copied>,
) -> Plan<'a> {
    let mut after = head.clone();
    let mut decided = Vec::with_capacity(posts.len());
    for post in posts {
        let id = post.id().as_str();
        let place = place(&after, post, copies.get(id));
        if let Place::Open(_) = place {
            after = match post {
                PostState::Live(post) => after.admit(Member::of(post)).head,
                PostState::Deleted(_) => after.remove(id),
            };
        }
        decided.push((post, place));
    }
    let (mut effects, mut writes, mut needs_head) = (Vec::new(), Vec::new(), false);
    for (post, place) in decided {
        let stays = match post {
            PostState::Live(post) => after.holds(&Member::of(post)),
            PostState::Deleted(_) => true,
        };
        effects.push(match place {
            Place::Open(etag) if stays => {
                // A member's copy that is missing: the member may have left meanwhile.
                needs_head |= etag.is_none() && matches!(post, PostState::Live(_));
                writes.push((post, etag));
                Effect::Applied
            }
            Place::Open(_) => Effect::Unchanged,
            Place::Taken(effect) => effect,
        });
    }
    let is_written = |id: &str| writes.iter().any(|(post, _)| post.id().as_str() == id);
    let leave = head.members().iter().map(|member| member.id.as_str());
    let leave = leave.filter(|id| !after.contains(id) && !is_written(id)).map(str::to_owned);
    let leave = leave.collect();
    Plan { after, effects, writes, needs_head, leave }
}

/// Where a post is to be written, if the feed is as `head` says and this is `there`.
fn place(head: &FeedHead, post: &PostState, there: Option<&Copied>) -> Place {
    let version = post.version();
    match post {
        // Where its copy is missing, an operator has deleted it.
        PostState::Live(post) if head.holds(&Member::of(post)) => Place::of(there, version),
        // There may be the mark of this post, or of an earlier one with its id; or the copy of a later
        // one, which is a member already. A copy of this very version is no member, so it is written
        // over, too.
        PostState::Live(post) if head.admits(&Member::of(post)) => Place::of(there, version + 1),
        PostState::Live(_) => Place::Taken(Effect::Unchanged),
        PostState::Deleted(_) => Place::of(there, version),
    }
}

#[cfg(test)]
mod tests {
    use std::{cmp::Reverse, collections::BTreeMap};

    use proptest::{collection::vec, prelude::*};
    use serde_json::{from_value, json};

    use super::*;
    use crate::blog::model::{DeletedPost, FEED_CAPACITY, Post};

    /// The feed as it is stored: the head, and of each copy or tombstone the version and whether it
    /// is a copy.
    #[derive(Default)]
    struct Feed {
        head: FeedHead,
        items: BTreeMap<String, (u64, bool)>,
    }

    impl Feed {
        fn settle(&mut self, posts: &[PostState]) {
            self.settle_under(&self.head.clone(), posts);
        }

        /// Fills the feed up from the newest posts that exist, as `refill` does.
        fn refill(&mut self, newest: &[PostState]) {
            for posts in newest.chunks(49) {
                let is_missing = |post: &&PostState| match post {
                    PostState::Live(post) => !self.head.holds(&Member::of(post)),
                    PostState::Deleted(_) => false,
                };
                let missing: Vec<_> = posts.iter().filter(is_missing).map(copy_of).collect();
                self.settle_under(&self.head.filled(), &missing);
            }
        }

        fn settle_under(&mut self, head: &FeedHead, posts: &[PostState]) {
            let copied = |version| Copied { version, etag: ETag::from("") };
            let copies = self.items.iter().map(|(id, item)| (id.clone(), copied(item.0))).collect();
            let Plan { after, effects, writes, needs_head, leave } = plan(head, posts, &copies);
            assert_eq!(effects.len(), posts.len());
            assert!(1 + writes.len() + leave.len() <= 100, "one transaction");
            assert!(!writes.is_empty() || after == *head, "nothing for the head alone");
            assert!(writes.is_empty() || posts.iter().any(|post| concerns(head, post)));
            for (post, _) in writes {
                let is_copy = matches!(post, PostState::Live(_));
                let id = post.id().to_string();
                let is_new = self.items.insert(id, (post.version(), is_copy)).is_none();
                assert!(!is_copy || !is_new || needs_head || after != *head);
            }
            for id in leave {
                self.items.remove(&id);
            }
            self.head = after;
        }

        fn copies(&self) -> Vec<&str> {
            self.items.iter().filter(|(_, item)| item.1).map(|(id, _)| id.as_str()).collect()
        }

        fn members(&self) -> Vec<&str> {
            let mut members: Vec<_> = self.head.members().iter().map(|one| &*one.id).collect();
            members.sort_unstable();
            members
        }
    }

    fn copy_of(post: &PostState) -> PostState {
        match post {
            PostState::Live(post) => PostState::Live(post.clone()),
            PostState::Deleted(mark) => PostState::Deleted(mark.clone()),
        }
    }

    fn live(id: &str, version: u64, second: usize) -> PostState {
        let date = format!("2026-11-21T{:02}:{:02}:00.000Z", second / 60 % 24, second % 60);
        let post: Post = from_value(json!({
            "id": id, "postId": id, "userId": "ann", "userUsername": "Ann", "title": "T",
            "content": "C", "commentCount": 0, "likeCount": 0, "creationDate": date,
            "version": version, "usernameVersion": 1,
        }))
        .unwrap();
        PostState::Live(Box::new(post))
    }

    fn deleted(id: &str, version: u64) -> PostState {
        let mark = json!({
            "id": id, "postId": id, "userId": "ann", "version": version, "ttl": 1,
        });
        PostState::Deleted(from_value::<DeletedPost>(mark).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Of each post, 0 is a delete, and 1 an operator who deletes the copy before a change.
        #[test]
        fn changes_come_to_the_same_together_as_one_by_one(
            batches in vec(vec((0usize..250, 0u8..5), 1..50), 1..12),
        ) {
            // Of each post its version and, while it exists, when it was created.
            let mut sources: BTreeMap<usize, (u64, Option<usize>)> = BTreeMap::new();
            let (mut together, mut one_by_one) = (Feed::default(), Feed::default());
            for (time, batch) in batches.into_iter().enumerate() {
                let batch: BTreeMap<usize, u8> = batch.into_iter().collect();
                let mut posts = Vec::new();
                for (post, what) in batch {
                    let (version, created) = sources.entry(post).or_default();
                    *version += 1;
                    let id = format!("p{post}");
                    if what == 0 {
                        *created = None;
                        posts.push(deleted(&id, *version));
                        continue;
                    }
                    if what == 1 {
                        for feed in [&mut together, &mut one_by_one] {
                            feed.items.retain(|known, item| *known != id || !item.1);
                        }
                    }
                    let created = *created.get_or_insert(time * 60 + post % 60);
                    posts.push(live(&id, *version, created));
                }
                together.settle(&posts);
                for post in posts.chunks(1) {
                    one_by_one.settle(post);
                }
                let newest = newest(&sources);
                for feed in [&mut together, &mut one_by_one] {
                    if feed.head.refill {
                        feed.refill(&newest);
                    }
                    prop_assert_eq!(feed.copies(), feed.members());
                    let expected: Vec<_> = newest.iter().map(member_of).collect();
                    prop_assert_eq!(feed.head.members(), &expected);
                }
                let before = together.items.clone();
                together.settle(&posts);
                prop_assert_eq!(&together.items, &before);
            }
        }
    }

    fn member_of(post: &PostState) -> Member {
        match post {
            PostState::Live(post) => Member::of(post),
            PostState::Deleted(_) => unreachable!("a post that exists"),
        }
    }

    /// The newest posts that exist.
    fn newest(sources: &BTreeMap<usize, (u64, Option<usize>)>) -> Vec<PostState> {
        let posts = sources.iter().filter_map(|(post, (version, created))| {
            Some(live(&format!("p{post}"), *version, (*created)?))
        });
        let mut posts: Vec<_> = posts.collect();
        posts.sort_by_cached_key(|post| Reverse(member_of(post)));
        posts.truncate(FEED_CAPACITY);
        posts
    }
}
