//! Each kind of divergence is made by hand. The audit finds it, finds nothing else, and repairs it.

use std::time::Duration;

use serde_json::{Value, json};
use tributary_functions::values::Timestamp;

use super::{
    LONG_AGO, Place, a_comment, audit_within, change, findings, in_short, remove, reserve,
    reserve_in_a_ring, small_blog, stray_like,
};
use tributary::blog::{self, Blog};
use tributary_functions::{
    app::AppOptions,
    audit::{AuditOptions, Finding, Listener},
};
use tributary_local::cosmos::{Fault, RequestKind};

use crate::{blog::user, world::World};

const COPY: Place = ("users", "ann", "post:p1");
const IN_FEED: Place = ("feed", "post", "p1");
const HEAD: Place = ("feed", "post", "~head");
const LIKE: Place = ("posts", "p1", "like:cy");
/// A comment has an id of the server.
const COMMENT: Place = ("posts", "p1", "…");
const RESERVATION: Place = ("users", "username:ann", "username");

const GIVEN_UP: &str = "1970-01-01T00:00:00.000Z";

#[derive(Clone, Debug)]
enum Damage {
    Change(Place, Value),
    /// Changes `p1` in a new version, which reaches the copies.
    ChangePost(Value),
    Remove(Place),
    Copy(Place, Value),
    Insert(&'static str, Value),
    Reserve(&'static str, &'static str, &'static str),
    ReserveInARing,
    Members {
        keeps_p1: bool,
        adds: &'static [&'static str],
    },
    /// Deletes a post through the app, but keeps the head of the feed.
    DeletePost(&'static str),
    SignUp(&'static str, &'static str),
}

use Damage::{
    Change, ChangePost, Copy, DeletePost, Insert, Members, Remove, Reserve, ReserveInARing, SignUp,
};

impl Damage {
    async fn make(&self, world: &World) {
        match self {
            Change(place, fields) => change(world, at(world, *place).await, fields.clone()).await,
            Remove(place) => remove(world, at(world, *place).await).await,
            ChangePost(fields) => {
                let mut fields = fields.clone();
                let post = world.item("posts", "p1").await;
                fields["version"] = json!(post["version"].as_u64().unwrap() + 1);
                change(world, ("posts", "p1", "p1"), fields).await;
                world.settle().await;
            }
            Copy((container, _, id), fields) => {
                let mut copy = world.item(container, id).await;
                copy.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
                world.write_item(container, &copy).await;
            }
            Insert(container, item) => world.write_item(container, item).await,
            Reserve(name, owner, date) => reserve(world, name, owner, date).await,
            ReserveInARing => reserve_in_a_ring(world).await,
            Members { keeps_p1, adds } => {
                let head = world.item("feed", "~head").await;
                let mut members = head["members"].as_array().unwrap().clone();
                members.retain(|member| *keeps_p1 || member["id"] != "p1");
                members.extend(adds.iter().map(|id| json!({"creationDate": LONG_AGO, "id": id})));
                change(world, HEAD, json!({ "members": members })).await;
            }
            DeletePost(id) => {
                let head = world.item("feed", "~head").await;
                world.delete(&format!("/api/posts/{id}")).await.expect(204);
                world.settle().await;
                if *id == "p1" {
                    // The member comes back, past the tombstone.
                    change(world, HEAD, json!({ "members": head["members"] })).await;
                }
            }
            SignUp(id, name) => drop(user(world, id, name).await.expect(201)),
        }
    }
}

async fn at(world: &World, place: Place) -> (&'static str, &'static str, String) {
    let id = if place == COMMENT { a_comment(world).await } else { place.2.to_owned() };
    (place.0, place.1, id)
}

type Case<'a> = (&'a [Damage], &'a [&'a str]);

/// Damages a small blog in each of these ways, one after the other, and checks the findings of the audit. A repair
/// removes all of them, so the next ones are found alone. Those that need an operator stay, each in a blog of its own.
async fn hold(is_repairable: bool, cases: &[Case<'_>]) {
    let mut world = small_blog().await;
    for (damages, found) in cases {
        if !is_repairable {
            world = small_blog().await;
        }
        for damage in *damages {
            damage.make(&world).await;
        }
        let mut before: Vec<_> =
            findings(&world).await.iter().map(|finding| hide_id(finding)).collect();
        before.sort();
        assert_eq!(before, *found, "{damages:?}");

        let (repaired, summary) = audit_within(&world, Duration::ZERO, true).await;
        let n_found = found.len() as u64;
        let n_repaired = if is_repairable { n_found } else { 0 };
        assert_eq!((summary.findings, summary.repaired), (n_found, n_repaired), "{repaired:?}");
        // Nothing changes here: each remaining finding tells the operator what to do.
        assert!(!format!("{repaired:?}").contains("it keeps changing"), "{repaired:?}");
        world.settle().await;
        if !is_repairable {
            assert_eq!(findings(&world).await.len(), found.len(), "{damages:?}");
        }
    }
    if is_repairable {
        assert_eq!(findings(&world).await, [""; 0]);
    }
}

fn hide_id(finding: &str) -> String {
    let words = finding.split(' ').map(|word| if word.len() == 36 { "…" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn wrong_items_of_posts_are_found_and_repaired() {
    let orphan = Insert("posts", stray_like("never"));
    let orphan_of_deleted = [DeletePost("p2"), Insert("posts", stray_like("p2"))];
    let old_name = json!({"userUsername": "Old", "usernameVersion": 0});
    hold(
        true,
        &[
            (&[Remove(COMMENT)], &["count-differs posts p1 p1"]),
            (&[ChangePost(json!({"likeCount": 0}))], &["count-differs posts p1 p1"]),
            (&[Change(COMMENT, old_name)], &["name-differs posts p1 …"]),
            (&[Change(LIKE, json!({"usernameVersion": 7}))], &["name-differs posts p1 like:cy"]),
            (&[ChangePost(json!({"userUsername": "Annie"}))], &["name-differs posts p1 p1"]),
            (&[orphan], &["orphan posts never like:bob"]),
            (&orphan_of_deleted, &["orphan posts p2 like:bob"]),
            (&[Insert("posts", stray_like("p1"))], &["stale-reaction posts p1 like:bob"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn wrong_copies_are_found_and_repaired() {
    let tombstone = json!({
        "type": "deletedPost", "id": "post:p1", "postId": "p1", "userId": "ann", "version": 99,
        "ttl": 1000,
    });
    let of_ghost = json!({"id": "post:ghost", "postId": "ghost"});
    let ghost_in_feed = json!({"id": "ghost", "postId": "ghost"});
    hold(
        true,
        &[
            (&[Remove(COPY)], &["copy-missing users ann post:p1"]),
            (&[Insert("users", tombstone)], &["copy-newer users ann post:p1"]),
            (
                &[Change(COPY, json!({"title": 1}))],
                &["copy-different users ann post:p1", "unreadable users ann post:p1"],
            ),
            (&[Copy(COPY, of_ghost)], &["copy-extra users ann post:ghost"]),
            (&[Copy(COPY, json!({"userId": "bob"}))], &["copy-extra users bob post:p1"]),
            (&[Remove(IN_FEED)], &["copy-missing feed post p1"]),
            (&[Change(IN_FEED, json!({"version": 1}))], &["copy-older feed post p1"]),
            (&[Change(IN_FEED, json!({"version": 99}))], &["copy-newer feed post p1"]),
            (&[Change(IN_FEED, json!({"likeCount": 9}))], &["copy-different feed post p1"]),
            (&[Copy(IN_FEED, ghost_in_feed)], &["copy-extra feed post ghost"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn wrong_members_of_the_feed_are_found_and_repaired() {
    let without_p1 = Members { keeps_p1: false, adds: &[] };
    let with_early_p1 = Members { keeps_p1: false, adds: &["p1"] };
    let with_ghost = Members { keeps_p1: true, adds: &["ghost"] };
    hold(
        true,
        &[
            (&[without_p1.clone(), Remove(IN_FEED)], &["member-missing feed post p1"]),
            (&[without_p1], &["copy-extra feed post p1", "member-missing feed post p1"]),
            (&[with_early_p1], &["member-different feed post p1"]),
            (&[with_ghost], &["member-extra feed post ghost"]),
            (&[Change(HEAD, json!({"refill": true}))], &["refill-pending feed post ~head"]),
            (&[DeletePost("p1")], &["member-extra feed post p1"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn wrong_reservations_of_names_are_found_and_repaired() {
    let leaked = |name| format!("reservation-leaked users username:{name} username");
    let foreign = |user| format!("reservation-foreign users {user} {user}");
    let [ann, bob, cy] = ["ann", "bob", "cy"];
    let in_a_ring = [foreign(ann), foreign(bob), foreign(cy), leaked(ann), leaked(bob), leaked(cy)];
    let in_a_ring = in_a_ring.each_ref().map(String::as_str);
    hold(
        true,
        &[
            (&[Reserve("zoe", "nobody", LONG_AGO)], &[&leaked("zoe")]),
            (&[Reserve("annie", ann, LONG_AGO)], &[&leaked("annie")]),
            (&[Remove(RESERVATION)], &["reservation-missing users ann ann"]),
            (&[Reserve(ann, bob, GIVEN_UP)], &[&foreign(ann)]),
            (&[Reserve(ann, bob, LONG_AGO)], &[&foreign(ann), &leaked(ann)]),
            (&[ReserveInARing], &in_a_ring),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_the_audit_cannot_repair_is_a_finding_and_the_audit_continues() {
    let dans = ("users", "username:dan", "username");
    let renamed = Change(("users", "dan", "dan"), json!({"username": "ANN"}));
    let unknown = json!({"id": "x", "postId": "p1", "type": "nonsense"});
    let stray = json!({"id": "stray", "type": "post", "creationDate": LONG_AGO, "title": 1});
    let unnamed = Change(("users", "cy", "cy"), json!({"username": 1}));
    hold(
        false,
        &[
            (&[Change(COMMENT, json!({"userId": "ghost"}))], &["user-missing posts p1 …"]),
            (&[SignUp("dan", "Dan"), Remove(dans), renamed], &["name-twice users dan dan"]),
            (&[Insert("posts", unknown)], &["unreadable posts p1 x"]),
            (&[Change(HEAD, json!({"members": 1}))], &["unreadable feed post ~head"]),
            (&[Insert("feed", stray)], &["unreadable feed post stray"]),
            (&[unnamed], &["unreadable users cy cy"]),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_reservation_that_may_still_be_used_or_was_given_up_is_no_divergence() {
    let world = small_blog().await;
    reserve(&world, "annie", "ann", GIVEN_UP).await;
    reserve(&world, "zoe", "nobody", &Timestamp::now().to_string()).await;
    assert_eq!(findings(&world).await, [""; 0]);
}

#[tokio::test]
async fn a_finding_has_versions_numbers_and_names_but_no_contents() {
    let world = small_blog().await;
    let secret = json!({"title": "secret title", "content": "secret content"});
    change(&world, COPY, secret).await;
    Remove(COMMENT).make(&world).await;
    let (findings, _) = audit_within(&world, Duration::ZERO, false).await;
    let text = serde_json::to_string(&findings).unwrap();
    assert!(!text.contains("secret") && !text.contains("Well"), "{text}");
    let mut shown: Vec<_> = findings
        .iter()
        .map(|finding| (in_short(finding), &*finding.expected, &*finding.found))
        .collect();
    shown.sort_unstable();
    let counts = ("commentCount 1, likeCount 1", "commentCount 2, likeCount 1");
    assert_eq!(
        shown,
        [
            ("copy-different users ann post:p1".into(), "version 4", "another content, title"),
            ("count-differs posts p1 p1".into(), counts.0, counts.1),
        ]
    );
}

async fn tick(world: &World, repair: bool) -> Result<(), String> {
    let audit = AuditOptions { settle: Duration::ZERO, repair };
    world.with_app(AppOptions { audit, ..World::options() }).await.tick("AuditBlog").await
}

#[tokio::test]
async fn the_timer_succeeds_with_findings_and_repairs_only_if_set() {
    let world = small_blog().await;
    remove(&world, COPY).await;
    change(&world, ("feed", "post", "p2"), json!({"version": 1})).await;
    tick(&world, false).await.unwrap();
    assert_eq!(findings(&world).await.len(), 2);
    tick(&world, true).await.unwrap();
    assert_eq!(findings(&world).await, [""; 0]);
    world.endpoint.inject(Fault::Refused(503), RequestKind::Query, "posts", 1_000);
    tick(&world, false).await.unwrap_err();
}

/// The number of findings in each report.
struct Reports(Vec<usize>);

impl Listener for Reports {
    fn findings(&mut self, findings: &[Finding]) {
        self.0.push(findings.len());
    }
}

#[tokio::test]
async fn the_waiting_suspects_are_bounded_with_any_number_of_divergences() {
    let world = World::new().await;
    for n in 0..1_050 {
        let broken = json!({"id": n.to_string(), "postId": "p", "type": "nonsense"});
        world.write_item("posts", &broken).await;
    }
    let mut reports = Reports(Vec::new());
    let blog = Blog::new(&World::cosmos(&world.endpoint).await);
    let options = AuditOptions { settle: Duration::ZERO, repair: false };
    blog::audit::audit(&blog).run(options, &mut reports).await.unwrap();
    assert_eq!(reports.0, [1_000, 50]);
}
