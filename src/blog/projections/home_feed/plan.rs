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
    /// The posts whose copy or mark is written, and over what.
    pub(super) writes: Vec<(&'a PostState, Option<ETag>)>,
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
        let id = post.author_and_id().1.as_str();
        let place = place(&after, post, copies.get(id));
        if let Place::Open(_) = place {
            after = match post {
                PostState::Live(post) => after.admit(Member::of(post)).head,
                PostState::Deleted(_) => after.remove(id),
            };
        }
        decided.push((post, place));
    }
    let (mut effects, mut writes) = (Vec::new(), Vec::new());
    for (post, place) in decided {
        let stays = match post {
            PostState::Live(post) => after.holds(&Member::of(post)),
            PostState::Deleted(_) => true,
        };
        effects.push(match place {
            Place::Open(etag) if stays => {
                writes.push((post, etag));
                Effect::Applied
            }
            Place::Open(_) => Effect::Unchanged,
            Place::Taken(effect) => effect,
        });
    }
    let is_written =
        |id: &str| writes.iter().any(|(post, _)| post.author_and_id().1.as_str() == id);
    let leave = head.members().iter().map(|member| member.id.as_str());
    let leave = leave.filter(|id| !after.contains(id) && !is_written(id)).map(str::to_owned);
    let leave = leave.collect();
    Plan { after, effects, writes, leave }
}

/// Where a post is to be written, if the feed is as `head` says and this is `there`.
fn place(head: &FeedHead, post: &PostState, there: Option<&Copied>) -> Place {
    let version = post.version();
    match post {
        PostState::Live(post) if head.holds(&Member::of(post)) => match there {
            Some(_) => Place::of(there, version),
            // It has left the feed meanwhile.
            None => Place::Taken(Effect::Unchanged),
        },
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
    use std::collections::BTreeMap;

    use proptest::{collection::vec, prelude::*};
    use serde_json::{from_value, json};

    use super::*;
    use crate::blog::model::{DeletedPost, Post};

    /// The feed as it is stored: the head, and of each copy or mark the version and whether it is a
    /// copy.
    #[derive(Default)]
    struct Feed {
        head: FeedHead,
        items: BTreeMap<String, (u64, bool)>,
    }

    impl Feed {
        fn settle(&mut self, posts: &[PostState]) {
            let copied = |version| Copied { version, etag: ETag::from("") };
            let copies = self.items.iter().map(|(id, item)| (id.clone(), copied(item.0))).collect();
            let Plan { after, effects, writes, leave } = plan(&self.head, posts, &copies);
            assert_eq!(effects.len(), posts.len());
            assert!(1 + writes.len() + leave.len() <= 100, "one transaction");
            assert!(!writes.is_empty() || after == self.head, "nothing for the head alone");
            assert!(writes.is_empty() || posts.iter().any(|post| concerns(&self.head, post)));
            for (post, _) in writes {
                let is_copy = matches!(post, PostState::Live(_));
                let id = post.author_and_id().1.to_string();
                self.items.insert(id, (post.version(), is_copy));
            }
            for id in leave {
                assert!(
                    self.items.remove(&id).is_some(),
                    "what is not there fails the transaction"
                );
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

        #[test]
        fn changes_come_to_the_same_together_as_one_by_one(
            batches in vec(vec((0usize..250, 0u8..4), 1..50), 1..12),
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
                    } else {
                        let created = *created.get_or_insert(time * 60 + post % 60);
                        posts.push(live(&id, *version, created));
                    }
                }
                together.settle(&posts);
                for post in posts.chunks(1) {
                    one_by_one.settle(post);
                }
                prop_assert_eq!(&together.head, &one_by_one.head);
                prop_assert_eq!(together.copies(), together.members());
                prop_assert_eq!(one_by_one.copies(), one_by_one.members());
                // Again. Where the feed is to be filled up, what was evicted may come back for now.
                if !together.head.refill {
                    let before = together.items.clone();
                    together.settle(&posts);
                    prop_assert_eq!(&together.items, &before);
                }
            }
        }
    }
}
