//! The shapes under the proof, on the posts of the blog.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Value, json};
use tributary_blog::{
    Blog,
    model::{
        Author, Like, Post, PostContent, PostId, PostText, PostsItem, Title, User, UserId,
        Username, UsersItem,
    },
    projections::{NewestPosts, PostCopies, PostsIntegrity, Usernames, UsernamesInPosts},
};
use tributary_functions::{
    audit::Audit,
    cosmos::{Cosmos, Query, StoreError},
    projection::{
        AnyProjection, Background, Projection,
        aggregate::{Aggregate, AggregateProjection, Contribution},
        window::Window,
    },
    values::Timestamp,
};

use tributary_local::cosmos::{Fault, RequestKind};

use crate::{
    given,
    world::{TestApp, World},
};
use tributary_testing::{
    audits::findings,
    proof::{self, Sources, Targets, compare_totals, totals_container},
};

/// The number of posts of a user.
pub(crate) struct PostCounts;

impl PostCounts {
    pub(crate) fn projection(cosmos: &Arc<Cosmos>) -> AggregateProjection<Self> {
        let [posts, counts] = ["posts", "post-counts"].map(|id| cosmos.container(id));
        AggregateProjection::new(&posts, &counts)
    }
}

impl Aggregate for PostCounts {
    const FUNCTION: &'static str = "PostCounts";
    type Change = PostsItem;

    fn contribution(change: &PostsItem) -> Option<Contribution> {
        match change {
            PostsItem::Post(post) => Some(Contribution::new(post.public.user_id.as_str(), 1)),
            _ => None,
        }
    }
}

/// The feed with room for two posts: most histories fill it, and delete one of its members.
struct TwoNewestPosts;

impl Window for TwoNewestPosts {
    const FUNCTION: &'static str = "TwoNewestPosts";
    const CAPACITY: u32 = 2;
    const PARTITION: &'static str = "two posts";
    type Change = PostsItem;
    type Source = Post;
    type Copy = <NewestPosts as Window>::Copy;

    fn source(change: &PostsItem) -> Option<&Post> {
        NewestPosts::source(change)
    }

    fn creation_date(post: &Post) -> Timestamp {
        NewestPosts::creation_date(post)
    }

    fn copy(post: &Post) -> Self::Copy {
        NewestPosts::copy(post)
    }

    fn may_be_rewritten(change: &PostsItem) -> bool {
        NewestPosts::may_be_rewritten(change)
    }

    fn newest(at_most: u32) -> Result<Query, StoreError> {
        NewestPosts::newest(at_most)
    }

    fn created_at(creation_date: Timestamp, at_most: u32) -> Result<Query, StoreError> {
        NewestPosts::created_at(creation_date, at_most)
    }
}

/// Posts, as the commands of the blog write them.
#[derive(Default)]
pub(crate) struct Posts(HashMap<u8, PostsItem>);

impl Sources for Posts {
    type App = TestApp;

    const CONTAINER: &'static str = "posts";
    const PARTITION_KEY: &'static str = "postId";

    fn write(&mut self, source: u8, owner: u8) -> Value {
        let user_id = UserId::parse(format!("u{owner}")).unwrap();
        let username = Username::parse(format!("User {owner}")).unwrap();
        let author = Author { user_id: user_id.clone(), username, version: 1 };
        let title = Title::parse("T".into()).unwrap();
        let text = PostText { user_id, title, content: PostContent::parse("C".into()).unwrap() };
        let id = PostId::parse(format!("p{source}")).unwrap();
        let post = match self.0.get(&source) {
            Some(PostsItem::Post(post)) => post.with_counts(post.public.comment_count + 1, 0),
            Some(PostsItem::DeletedPost(tombstone)) => {
                Post::new(id, &text, &author).replacing(tombstone)
            }
            _ => Post::new(id, &text, &author),
        };
        self.set(source, PostsItem::Post(post))
    }

    fn delete(&mut self, source: u8) -> Option<Value> {
        let Some(PostsItem::Post(post)) = self.0.get(&source) else {
            return None;
        };
        let tombstone = PostsItem::DeletedPost(post.deleted());
        Some(self.set(source, tombstone))
    }
}

impl Posts {
    fn set(&mut self, source: u8, item: PostsItem) -> Value {
        let state = serde_json::to_value(&item).unwrap();
        self.0.insert(source, item);
        state
    }
}

/// Users, as the commands of the blog rename them.
#[derive(Default)]
struct Users(HashMap<u8, User>);

impl Sources for Users {
    type App = TestApp;

    const CONTAINER: &'static str = "users";
    const PARTITION_KEY: &'static str = "userId";

    fn write(&mut self, source: u8, _owner: u8) -> Value {
        let name = |version| Username::parse(format!("User {source} {version}")).unwrap();
        let id = UserId::parse(format!("u{source}")).unwrap();
        let user = match self.0.get(&source) {
            Some(user) => user.clone().renamed(name(user.version + 1)),
            None => User::new(id, name(1)),
        };
        self.0.insert(source, user.clone());
        serde_json::to_value(UsersItem::User(user)).unwrap()
    }
}

/// Posts, and likes of other posts, as users write them.
struct Written;

impl Targets for Written {
    type Sources = Users;

    const CONTAINER: &'static str = "posts";
    const PARTITION_KEY: &'static str = "postId";
    const COPIED: &'static [&'static str] = &["userUsername", "usernameVersion"];

    fn create(target: u8, source: &Value, tombstone: Option<&Value>) -> Value {
        let UsersItem::User(user) = serde_json::from_value(source.clone()).unwrap() else {
            panic!("{source}");
        };
        let author = user.author();
        let id = PostId::parse(format!("p{target}")).unwrap();
        let item = if target.is_multiple_of(2) {
            let title = Title::parse("T".into()).unwrap();
            let content = PostContent::parse("C".into()).unwrap();
            let post = Post::new(id, &PostText { user_id: user.user_id, title, content }, &author);
            PostsItem::Post(match tombstone.map(|it| serde_json::from_value(it.clone()).unwrap()) {
                Some(PostsItem::DeletedPost(tombstone)) => post.replacing(&tombstone),
                _ => post,
            })
        } else {
            PostsItem::Like(Like::new(&id, &author, Timestamp::now()))
        };
        serde_json::to_value(item).unwrap()
    }

    fn version(target: &Value) -> u64 {
        target["usernameVersion"].as_u64().unwrap()
    }

    fn edit(target: &Value) -> Option<Value> {
        let PostsItem::Post(post) = serde_json::from_value(target.clone()).unwrap() else {
            return None;
        };
        let edited = post.with_counts(post.public.comment_count + 1, 0);
        Some(serde_json::to_value(PostsItem::Post(edited)).unwrap())
    }

    fn tombstone(target: &Value) -> Option<Value> {
        let PostsItem::Post(post) = serde_json::from_value(target.clone()).unwrap() else {
            return None;
        };
        Some(serde_json::to_value(PostsItem::DeletedPost(post.deleted())).unwrap())
    }
}

fn usernames(cosmos: &Arc<Cosmos>, background: &Background) -> Arc<dyn AnyProjection> {
    let blog = Blog::new(cosmos);
    Arc::new(UsernamesInPosts::new(Usernames(blog.clone()), &blog.users, &blog.posts, background))
}

fn posts_integrity(cosmos: &Arc<Cosmos>, background: &Background) -> Arc<dyn AnyProjection> {
    Arc::new(PostsIntegrity::new(&Blog::new(cosmos), background))
}

#[test]
fn copied_names_end_as_the_users_have_them() {
    proof::fan_out::<Written>(usernames, posts_integrity).unwrap();
}

#[test]
fn the_feed_ends_as_its_definition_says() {
    proof::window::<Posts, NewestPosts>("feed").unwrap();
}

#[test]
fn a_window_that_is_full_ends_as_its_definition_says() {
    proof::window::<Posts, TwoNewestPosts>("feed").unwrap();
}

#[test]
fn copies_end_as_their_definition_says() {
    proof::copies::<Posts, PostCopies>("users").unwrap();
}

#[tokio::test]
async fn a_key_that_a_failed_delivery_left_pending_is_settled_by_the_next_version() {
    let world = World::new().await;
    proof::provision(&world, &json!([totals_container("post-counts")])).await;
    let cosmos = World::cosmos(&world.endpoint).await;
    let projection = PostCounts::projection(&cosmos);
    let mut posts = Posts::default();
    let of_ann = posts.write(0, 0);
    posts.delete(0);
    let of_bob = posts.write(0, 1);
    let tombstone = posts.delete(0).unwrap();
    let change = |state| serde_json::from_value::<PostsItem>(state).unwrap();
    projection.apply(&change(of_ann)).await.unwrap();
    // The holder says that the post is Bob's, and no share says so yet.
    world.endpoint.inject(Fault::Refused(412), RequestKind::Batch, "post-counts", 9);
    projection.apply(&change(of_bob)).await.unwrap_err();
    projection.apply(&change(tombstone)).await.unwrap();
    compare_totals::<PostCounts>(&world.items("post-counts").await, &[]).unwrap();
}

#[tokio::test]
async fn a_share_that_the_store_refuses_is_counted_once_by_the_next_attempt() {
    let world = World::new().await;
    proof::provision(&world, &json!([totals_container("post-counts")])).await;
    let cosmos = World::cosmos(&world.endpoint).await;
    let projection = PostCounts::projection(&cosmos);
    let post = Posts::default().write(0, 0);
    let change: PostsItem = serde_json::from_value(post.clone()).unwrap();
    // A projection that counts it first would count it again with the next attempt.
    world.endpoint.inject(Fault::Refused(412), RequestKind::Batch, "post-counts", 1);
    projection.apply(&change).await.unwrap();
    compare_totals::<PostCounts>(&world.items("post-counts").await, &[post]).unwrap();
}

/// The findings of the audit, sorted.
pub(crate) async fn audited(world: &World, repair: bool) -> Vec<String> {
    let cosmos = World::cosmos(&world.endpoint).await;
    let [posts, counts] = ["posts", "post-counts"].map(|id| cosmos.container(id));
    let audit = Audit::of_aggregate::<PostCounts>("AuditCounts", "0 0 3 * * 0", &posts, &counts);
    findings(&audit, repair).await
}

#[tokio::test]
async fn the_audit_checks_and_repairs_an_aggregate_from_its_definition() {
    let world = given::blog().await;
    proof::provision(&world, &json!([totals_container("post-counts")])).await;
    given::post(&world, "p2", "bob").await.expect(201);
    // No projection has counted.
    let missing = ["copy-missing ann of p1", "copy-missing bob of p2"];
    assert_eq!(audited(&world, false).await, missing);
    assert_eq!(audited(&world, true).await, missing);
    assert_eq!(audited(&world, false).await, [""; 0]);
    let last = world.items("posts").await;
    compare_totals::<PostCounts>(&world.items("post-counts").await, &last).unwrap();

    // The counts are wrong in three ways.
    let counts = world.container("post-counts").await;
    let total = json!({"id": "total", "key": "ann", "value": 7});
    counts.upsert_item("ann", "total", &total, None).await.unwrap();
    let share = json!({"id": "of p2", "key": "ann", "version": 1, "amount": 1});
    counts.upsert_item("ann", "of p2", &share, None).await.unwrap();
    counts.delete_item("bob", "of p2", None).await.unwrap();
    let found = audited(&world, true).await;
    let expected = ["copy-extra ann of p2", "copy-missing bob of p2", "count-differs ann total"];
    assert!(expected.iter().all(|wanted| found.iter().any(|found| found == wanted)), "{found:?}");
    // The next audit checks the changes of a repair.
    audited(&world, true).await;
    assert_eq!(audited(&world, false).await, [""; 0]);
    compare_totals::<PostCounts>(&world.items("post-counts").await, &last).unwrap();
}
