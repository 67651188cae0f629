//! Each kind of divergence is made by hand. The audit finds it, finds nothing else, and repairs it.

use futures::future::{BoxFuture, FutureExt, join_all};
use serde_json::{Value, json};

use super::{
    LONG_AGO, audit_within, change, findings, in_short, insert, item, remove, reserve,
    reserve_in_a_ring, small_blog, stray_like,
};
use crate::{blog::user, world::World};

const COPY: (&str, &str, &str) = ("users", "ann", "post:p1");
const IN_FEED: (&str, &str, &str) = ("feed", "post", "p1");
const HEAD: (&str, &str, &str) = ("feed", "post", "~head");

struct Case {
    damage: fn(World) -> BoxFuture<'static, ()>,
    found: &'static [&'static str],
    /// The number of findings that can be repaired.
    repaired_count: u64,
}

fn repairable(damage: fn(World) -> BoxFuture<'static, ()>, found: &'static [&'static str]) -> Case {
    Case { damage, found, repaired_count: found.len() as u64 }
}

fn for_a_person(
    damage: fn(World) -> BoxFuture<'static, ()>,
    found: &'static [&'static str],
) -> Case {
    Case { damage, found, repaired_count: 0 }
}

/// Damages a copy of the small blog, and checks the findings of the audit.
async fn hold(case: Case) {
    let Case { damage, found, repaired_count } = case;
    let world = small_blog().await;
    damage(world.clone()).await;
    let mut before = findings(&world).await;
    before.sort();
    let before: Vec<_> = before.iter().map(|one| hide_id(one)).collect();
    assert_eq!(before, found);

    let (repaired, summary) = audit_within(&world, std::time::Duration::ZERO, true).await;
    assert_eq!(summary.findings, found.len() as u64, "{repaired:?}");
    assert_eq!(summary.repaired, repaired_count, "{repaired:?}");
    // Nothing changes here: each remaining finding tells the operator what to do.
    assert!(!format!("{repaired:?}").contains("it keeps changing"), "{repaired:?}");
    world.settle().await;
    let after = findings(&world).await;
    assert_eq!(after.len() as u64, found.len() as u64 - repaired_count, "{found:?} left {after:?}");
}

/// Comments have ids of the server.
fn hide_id(finding: &str) -> String {
    let words = finding.split(' ').map(|word| if word.len() == 36 { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

async fn hold_all(cases: Vec<Case>) {
    join_all(cases.into_iter().map(hold)).await;
}

/// The id of the oldest comment on `p1`.
async fn a_comment(world: &World) -> String {
    let comments = world.list("/api/posts/p1/comments").await;
    comments[0]["id"].as_str().unwrap().to_owned()
}

async fn change_comment(world: World, fields: Value) {
    let id = a_comment(&world).await;
    change(&world, ("posts", "p1", &id), fields).await;
}

/// Changes the post in a new version, which reaches the copies.
async fn change_post(world: World, mut fields: Value) {
    let posts = world.container("posts").await;
    let version = item(&posts, "p1", "p1").await["version"].as_u64().unwrap();
    fields["version"] = json!(version + 1);
    change(&world, ("posts", "p1", "p1"), fields).await;
    world.settle().await;
}

#[tokio::test]
async fn wrong_counts_of_comments_and_likes_are_found_and_repaired() {
    hold_all(vec![
        repairable(
            |world| {
                async move { remove(&world, ("posts", "p1", &a_comment(&world).await)).await }
                    .boxed()
            },
            &["count-differs posts p1 p1"],
        ),
        repairable(
            |world| change_post(world, json!({"likeCount": 0})).boxed(),
            &["count-differs posts p1 p1"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn wrong_names_are_found_and_repaired() {
    hold_all(vec![
        repairable(
            |world| {
                change_comment(world, json!({"userUsername": "Old", "usernameVersion": 0})).boxed()
            },
            &["name-differs posts p1 …"],
        ),
        repairable(
            |world| change_comment(world, json!({"userUsername": "Bobby"})).boxed(),
            &["name-differs posts p1 …"],
        ),
        repairable(
            |world| {
                async move {
                    let fields = json!({"usernameVersion": 7});
                    change(&world, ("posts", "p1", "like:cy"), fields).await;
                }
                .boxed()
            },
            &["name-differs posts p1 like:cy"],
        ),
        repairable(
            |world| change_post(world, json!({"userUsername": "Annie"})).boxed(),
            &["name-differs posts p1 p1"],
        ),
        for_a_person(
            |world| change_comment(world, json!({"userId": "ghost"})).boxed(),
            &["user-missing posts p1 …"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn comments_and_likes_without_their_post_are_found_and_repaired() {
    hold_all(vec![
        repairable(
            |world| async move { insert(&world, "posts", stray_like("never")).await }.boxed(),
            &["orphan posts never like:bob"],
        ),
        repairable(
            |world| {
                async move {
                    world.delete("/api/posts/p2").await.expect(204);
                    world.settle().await;
                    insert(&world, "posts", stray_like("p2")).await;
                }
                .boxed()
            },
            &["orphan posts p2 like:bob"],
        ),
        repairable(
            |world| async move { insert(&world, "posts", stray_like("p1")).await }.boxed(),
            &["stale-reaction posts p1 like:bob"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn wrong_copies_in_users_are_found_and_repaired() {
    hold_all(vec![
        repairable(
            |world| async move { remove(&world, COPY).await }.boxed(),
            &["copy-missing users ann post:p1"],
        ),
        repairable(
            |world| {
                async move {
                    let tombstone = json!({
                        "type": "deletedPost", "id": "post:p1", "postId": "p1", "userId": "ann",
                        "version": 99, "ttl": 1000,
                    });
                    insert(&world, "users", tombstone).await;
                }
                .boxed()
            },
            &["copy-missing users ann post:p1"],
        ),
        repairable(
            |world| async move { change(&world, COPY, json!({"version": 1})).await }.boxed(),
            &["copy-older users ann post:p1"],
        ),
        repairable(
            |world| async move { change(&world, COPY, json!({"version": 99})).await }.boxed(),
            &["copy-newer users ann post:p1"],
        ),
        repairable(
            |world| async move { change(&world, COPY, json!({"title": "Other"})).await }.boxed(),
            &["copy-different users ann post:p1"],
        ),
        repairable(
            |world| {
                async move {
                    let fields = json!({"id": "post:ghost", "postId": "ghost"});
                    change(&world, COPY, fields).await;
                }
                .boxed()
            },
            &["copy-extra users ann post:ghost"],
        ),
        repairable(
            |world| {
                async move {
                    let mut copy = item(&world.container("users").await, "ann", "post:p1").await;
                    copy["userId"] = json!("bob");
                    insert(&world, "users", copy).await;
                }
                .boxed()
            },
            &["copy-extra users bob post:p1"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn wrong_copies_in_the_feed_are_found_and_repaired() {
    hold_all(vec![
        repairable(
            |world| async move { remove(&world, IN_FEED).await }.boxed(),
            &["copy-missing feed post p1"],
        ),
        repairable(
            |world| async move { change(&world, IN_FEED, json!({"version": 1})).await }.boxed(),
            &["copy-older feed post p1"],
        ),
        repairable(
            |world| async move { change(&world, IN_FEED, json!({"version": 99})).await }.boxed(),
            &["copy-newer feed post p1"],
        ),
        repairable(
            |world| async move { change(&world, IN_FEED, json!({"likeCount": 9})).await }.boxed(),
            &["copy-different feed post p1"],
        ),
        repairable(
            |world| {
                async move {
                    let fields = json!({"id": "ghost", "postId": "ghost"});
                    change(&world, IN_FEED, fields).await;
                }
                .boxed()
            },
            &["copy-extra feed post ghost"],
        ),
    ])
    .await;
}

async fn without_p1(world: &World) -> Value {
    let head = item(&world.container("feed").await, "post", "~head").await;
    let mut members = head["members"].as_array().unwrap().clone();
    members.retain(|member| member["id"] != "p1");
    json!({"members": members})
}

#[tokio::test]
async fn wrong_members_of_the_feed_are_found_and_repaired() {
    hold_all(vec![
        repairable(
            |world| {
                async move {
                    change(&world, HEAD, without_p1(&world).await).await;
                    remove(&world, IN_FEED).await;
                }
                .boxed()
            },
            &["member-missing feed post p1"],
        ),
        repairable(
            |world| async move { change(&world, HEAD, without_p1(&world).await).await }.boxed(),
            &["copy-extra feed post p1", "member-missing feed post p1"],
        ),
        repairable(
            |world| {
                async move {
                    let mut members = without_p1(&world).await;
                    let early = json!({"creationDate": "2020-01-01T00:00:00.000Z", "id": "p1"});
                    members["members"].as_array_mut().unwrap().push(early);
                    change(&world, HEAD, members).await;
                }
                .boxed()
            },
            &["member-different feed post p1"],
        ),
        repairable(
            |world| {
                async move {
                    let head = item(&world.container("feed").await, "post", "~head").await;
                    let mut members = head["members"].as_array().unwrap().clone();
                    let ghost = json!({"creationDate": "2020-01-01T00:00:00.000Z", "id": "ghost"});
                    members.push(ghost);
                    change(&world, HEAD, json!({"members": members})).await;
                }
                .boxed()
            },
            &["member-extra feed post ghost"],
        ),
        repairable(
            |world| {
                async move {
                    let head = item(&world.container("feed").await, "post", "~head").await;
                    world.delete("/api/posts/p1").await.expect(204);
                    world.settle().await;
                    // The member comes back, past the tombstone.
                    change(&world, HEAD, json!({"members": head["members"]})).await;
                }
                .boxed()
            },
            &["member-extra feed post p1"],
        ),
        repairable(
            |world| async move { change(&world, HEAD, json!({"refill": true})).await }.boxed(),
            &["refill-pending feed post ~head"],
        ),
    ])
    .await;
}

const GIVEN_UP: &str = "1970-01-01T00:00:00.000Z";

#[tokio::test]
async fn wrong_reservations_of_names_are_found_and_repaired() {
    hold_all(vec![
        repairable(
            |world| async move { reserve(&world, "zoe", "nobody", LONG_AGO).await }.boxed(),
            &["reservation-leaked users username:zoe username"],
        ),
        repairable(
            |world| async move { reserve(&world, "annie", "ann", LONG_AGO).await }.boxed(),
            &["reservation-leaked users username:annie username"],
        ),
        repairable(
            |world| {
                async move { remove(&world, ("users", "username:ann", "username")).await }.boxed()
            },
            &["reservation-missing users ann ann"],
        ),
        repairable(
            |world| async move { reserve(&world, "ann", "bob", GIVEN_UP).await }.boxed(),
            &["reservation-foreign users ann ann"],
        ),
        repairable(
            |world| async move { reserve(&world, "ann", "bob", LONG_AGO).await }.boxed(),
            &[
                "reservation-foreign users ann ann",
                "reservation-leaked users username:ann username",
            ],
        ),
        repairable(
            |world| async move { reserve_in_a_ring(&world).await }.boxed(),
            &[
                "reservation-foreign users ann ann",
                "reservation-foreign users bob bob",
                "reservation-foreign users cy cy",
                "reservation-leaked users username:ann username",
                "reservation-leaked users username:bob username",
                "reservation-leaked users username:cy username",
            ],
        ),
        for_a_person(
            |world| {
                async move {
                    user(&world, "dan", "Dan").await.expect(201);
                    remove(&world, ("users", "username:dan", "username")).await;
                    change(&world, ("users", "dan", "dan"), json!({"username": "ANN"})).await;
                }
                .boxed()
            },
            &["name-twice users dan dan"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_reservation_that_may_still_be_used_or_was_given_up_is_no_divergence() {
    let world = small_blog().await;
    reserve(&world, "annie", "ann", GIVEN_UP).await;
    let now = tributary_functions::values::Timestamp::now().to_string();
    reserve(&world, "zoe", "nobody", &now).await;
    assert_eq!(findings(&world).await, [""; 0]);
}

#[tokio::test]
async fn an_unreadable_item_is_a_finding_and_the_audit_continues() {
    hold_all(vec![
        for_a_person(
            |world| {
                let broken = json!({"id": "x", "postId": "p1", "type": "nonsense"});
                async move { insert(&world, "posts", broken).await }.boxed()
            },
            &["unreadable posts p1 x"],
        ),
        for_a_person(
            |world| async move { change(&world, COPY, json!({"title": 1})).await }.boxed(),
            &["unreadable users ann post:p1"],
        ),
        for_a_person(
            |world| async move { change(&world, HEAD, json!({"members": 1})).await }.boxed(),
            &["unreadable feed post ~head"],
        ),
        for_a_person(
            |world| {
                let date = "2026-01-01T00:00:00.000Z";
                let stray =
                    json!({"id": "stray", "type": "post", "creationDate": date, "title": 1});
                async move { insert(&world, "feed", stray).await }.boxed()
            },
            &["unreadable feed post stray"],
        ),
        for_a_person(
            |world| {
                async move { change(&world, ("users", "cy", "cy"), json!({"username": 1})).await }
                    .boxed()
            },
            &["unreadable users cy cy"],
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_copy_of_the_right_version_with_another_text_is_found_and_repaired() {
    let world = small_blog().await;
    for (place, found) in
        [(COPY, "copy-different users ann post:p1"), (IN_FEED, "copy-different feed post p1")]
    {
        let container = world.container(place.0).await;
        let date = item(&container, place.1, place.2).await["creationDate"].clone();
        // The time is the same; its text stands elsewhere in the order of a list.
        let same_time = date.as_str().unwrap().replace('Z', "+00:00");
        for fields in [
            json!({"title": "2026-11-21T09:25:54.12Z"}),
            json!({"content": "1970-01-01T00:00:00Z"}),
            json!({"userUsername": "1970-01-01T00:00:00Z"}),
            json!({"creationDate": same_time}),
        ] {
            change(&world, place, fields.clone()).await;
            assert_eq!(findings(&world).await, [found], "{fields}");
            let (_, summary) = audit_within(&world, std::time::Duration::ZERO, true).await;
            assert_eq!((summary.findings, summary.repaired), (1, 1), "{fields}");
        }
        assert!(findings(&world).await.is_empty());
    }
}

#[tokio::test]
async fn a_finding_has_versions_numbers_and_names_but_no_contents() {
    let world = small_blog().await;
    let secret = json!({"title": "secret title", "content": "secret content"});
    change(&world, COPY, secret).await;
    remove(&world, ("posts", "p1", &a_comment(&world).await)).await;
    let (findings, _) = audit_within(&world, std::time::Duration::ZERO, false).await;
    let text = serde_json::to_string(&findings).unwrap();
    assert!(!text.contains("secret") && !text.contains("Well"), "{text}");
    let of = |kind: &str| findings.iter().find(|one| in_short(one).starts_with(kind)).unwrap();
    let counts = of("count-differs");
    let copy = of("copy-different");
    assert_eq!(counts.expected, "commentCount 1, likeCount 1");
    assert_eq!(counts.found, "commentCount 2, likeCount 1");
    assert_eq!(copy.expected, "version 4");
    assert_eq!(copy.found, "another content, title");
}
