//! The blog whose requests are counted: its sizes are those of the figures of the seed article
//! (`docs/local-endpoint.md`), ids and names of the usual length, 4 physical partitions.

use serde_json::{Value, json};

use crate::world::World;

#[derive(Clone, Copy)]
pub(super) struct Id(u32);

pub(super) const AUTHOR: Id = Id(0x100);
/// The author of the 75 posts before them.
pub(super) const WRITER: Id = Id(0x200);
pub(super) const READER: Id = Id(0x300);
pub(super) const RENAMED: Id = Id(0x400);
/// The author's first post, with 20 comments and 50 likes; the next have none.
pub(super) const POST: Id = Id(0x500);
/// A post that does not exist yet.
pub(super) const EDITED: Id = Id(0x600);
const OLDER_POST: Id = Id(0x700);

const POSTS: u32 = 25;
const OLDER_POSTS: u32 = 75;
const COMMENTS: u32 = 20;
const LIKES: u32 = 50;
const CONTENT: usize = 1_200;
const TITLE: usize = 40;

impl Id {
    /// The id is as long as every UUID.
    pub(super) fn id(self) -> String {
        format!("{:08x}-7b1e-7c3d-9f00-3a5d2b8e4c71", self.0)
    }

    pub(super) fn next(self) -> Self {
        self.plus(1)
    }

    fn plus(self, n: u32) -> Self {
        Self(self.0 + n)
    }
}

pub(super) async fn blog() -> World {
    let world = World::with_partitions(4).await;
    let users = [AUTHOR, WRITER, RENAMED].into_iter().chain((0..LIKES).map(|n| READER.plus(n)));
    for user in users {
        let name = json!({"username": format!("user{:x}", user.0)});
        world.put(&format!("/api/users/{}", user.id()), name).await.expect(201);
    }
    for (first, n, user) in [(OLDER_POST, OLDER_POSTS, WRITER), (POST, POSTS, AUTHOR)] {
        for post in (0..n).map(|n| first.plus(n).id()) {
            world.put(&format!("/api/posts/{post}"), text(user, "c")).await.expect(201);
        }
    }
    let post = format!("/api/posts/{}", POST.id());
    for n in 0..COMMENTS {
        let comment = comment(READER.plus(n));
        world.post(&format!("{post}/comments"), comment).await.expect(201);
    }
    for user in (0..LIKES).map(|n| READER.plus(n).id()) {
        world.call("PUT", &format!("{post}/likes/{user}"), &[], None).await.expect(201);
    }
    world.settle().await;
    world
}

pub(super) fn text(user: Id, character: &str) -> Value {
    json!({
        "userId": user.id(), "title": "t".repeat(TITLE), "content": character.repeat(CONTENT),
    })
}

pub(super) fn comment(user: Id) -> Value {
    json!({"userId": user.id(), "content": "c".repeat(CONTENT)})
}
