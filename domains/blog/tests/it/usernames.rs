//! Usernames are unique, regardless of case and of how accents are written.

use std::sync::atomic::{AtomicI64, Ordering};

use azure_data_cosmos::options::{ItemWriteOptions, Precondition};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};
use tributary_functions::{app::AppOptions, values::Clock};
use tributary_local::cosmos::{Fault, RequestKind};

use super::given::{self, user};
use crate::{expect::problem, world::World};

/// The partitions of the reservations that ann has, in order.
async fn reserved_for_ann(world: &World) -> Vec<String> {
    let users = world.items("users").await;
    let mut reserved: Vec<_> = users
        .iter()
        .filter(|item| item["owner"] == "ann")
        .map(|item| item["userId"].as_str().unwrap().to_owned())
        .collect();
    reserved.sort();
    reserved
}

#[tokio::test]
async fn a_taken_name_is_taken_in_every_case_and_form() {
    let world = World::new().await;
    for (n, (name, same)) in [
        ("Bob", "bOB"),
        ("Zo\u{eb}", "ZOE\u{308}"),
        ("E\u{301}mile", "\u{c9}MILE"),
        ("\u{212b}ngstr\u{f6}m", "a\u{30a}NGSTRO\u{308}M"),
        ("\u{393}\u{39d}\u{3a9}", "\u{3b3}\u{3bd}\u{3c9}"),
        ("a name/with?odd#signs \"\\", " A NAME/with?odd#signs \"\\ "),
    ]
    .into_iter()
    .enumerate()
    {
        let first = format!("first{n}");
        let second = format!("second{n}");
        user(&world, &first, name).await.expect(201);
        problem(&user(&world, &second, same).await, 409);
        problem(&world.post("/api/users", json!({"username": same})).await, 409);
        world.get(&format!("/api/users/{second}")).await.expect(404);
    }
}

#[tokio::test]
async fn an_instance_gives_new_items_a_name_of_at_most_thirty_seconds_ago() {
    static AHEAD: AtomicI64 = AtomicI64::new(0);
    let other = given::blog().await;
    let clock = Clock::ahead_by(&AHEAD);
    let world = other.with_app(AppOptions { clock, ..World::options() }).await;
    given::comment(&world, "p1", "bob", "Well.").await.expect(201);
    user(&other, "bob", "Rob").await.expect(200);
    for (seconds, name) in [(20, "Bob"), (30, "Rob")] {
        AHEAD.store(seconds, Ordering::Relaxed);
        let post = given::post(&world, &format!("p{seconds}"), "bob").await.expect(201);
        let comment = given::comment(&world, "p1", "bob", "Well.").await.expect(201);
        for answer in [post, comment] {
            assert_eq!(answer.json()["userUsername"], name, "after {seconds}");
        }
    }
    // The change feed repairs the items with the earlier name.
    world.settle().await;
    for comment in world.list("/api/posts/p1/comments").await {
        assert_eq!(comment["userUsername"], "Rob");
    }
}

#[tokio::test]
async fn a_rename_with_a_lost_answer_releases_the_old_name() {
    let world = given::blog().await;
    world.endpoint.inject(Fault::AnswerLost, RequestKind::Create, "users", 1);
    user(&world, "carl", "Carl").await.expect(201);
    world.endpoint.inject(Fault::AnswerLost, RequestKind::Replace, "users", 1);
    user(&world, "ann", "Anna").await.expect(200);
    let users = world.items("users").await;
    assert!(users.iter().all(|item| item["userId"] != "username:ann"), "{users:#?}");
    assert_eq!(name_of(&world, "ann").await, "Anna");
}

#[tokio::test]
async fn an_old_name_whose_release_fails_is_released_later_also_after_more_renames() {
    for names in [&["Anna"][..], &["Anna", "Anne", "Anja"]] {
        let world = given::blog().await;
        world.endpoint.inject(Fault::Refused(503), RequestKind::Delete, "users", 6);
        for name in names {
            user(&world, "ann", name).await.expect(200);
        }
        let reserved = reserved_for_ann(&world).await;
        assert!(reserved.contains(&"username:ann".to_owned()), "the test would show nothing");
        // The change feed brings the newest version of the user only.
        world.settle().await;
        let last = names[names.len() - 1];
        assert_eq!(reserved_for_ann(&world).await, [format!("username:{}", last.to_lowercase())]);
        assert_eq!(name_of(&world, "ann").await, last);
    }
}

#[tokio::test]
async fn a_users_own_name_in_another_case_is_accepted_and_stays_reserved() {
    let world = given::blog().await;
    for name in ["ANN", "ann", "aNN"] {
        assert_eq!(user(&world, "ann", name).await.expect(200).json()["username"], name);
        problem(&user(&world, "bob", "Ann").await, 409);
    }
    user(&world, "ann", "Anna").await.expect(200);
    user(&world, "bob", "Ann").await.expect(200);
}

#[tokio::test]
async fn a_refused_claim_leaves_its_name_free_and_the_users_own_name_can_be_released() {
    let world = given::blog().await;
    let conditions: [&[(&str, &str)]; 2] = [&[("if-none-match", "*")], &[("if-match", "\"0\"")]];
    for (headers, name) in [(conditions[0], "Zoe"), (conditions[1], "Zoe"), (conditions[0], "Ann")]
    {
        let body = Some(json!({"username": name}));
        problem(&world.call("PUT", "/api/users/ann", headers, body).await, 412);
    }
    user(&world, "zoe", "Zoe").await.expect(201);
    user(&world, "ann", "Anna").await.expect(200);
    user(&world, "carl", "Ann").await.expect(201);
}

#[tokio::test]
async fn a_reservation_leaked_by_a_crash_is_taken_over() {
    let world = given::blog().await;
    // The crash came before the owner was created.
    reserve(&world, "zoë", "nobody", Duration::HOUR).await;
    user(&world, "zoe", "Zo\u{eb}").await.expect(201);
    // The crash came before the owner was renamed, or after, before the old name was released.
    reserve(&world, "carl", "ann", Duration::HOUR).await;
    user(&world, "carl", "Carl").await.expect(201);
    problem(&user(&world, "nobody", "Zoe\u{308}").await, 409);
    problem(&user(&world, "ann", "carl").await, 409);
}

#[tokio::test]
async fn the_owner_of_a_leaked_reservation_can_complete_it() {
    let world = given::blog().await;
    reserve(&world, "zoe", "zoe", Duration::HOUR).await;
    reserve(&world, "anna", "ann", Duration::ZERO).await;
    user(&world, "zoe", "Zoe").await.expect(201);
    user(&world, "ann", "Anna").await.expect(200);
    problem(&user(&world, "bob", "Anna").await, 409);
    problem(&user(&world, "bob", "Zoe").await, 409);
}

#[tokio::test]
async fn a_slow_command_cannot_write_its_user_after_its_name_was_taken_over() {
    let world = given::blog().await;
    let users = world.container("users").await;
    // Two commands read their users, reserved names, and then stood still for an hour: one was to
    // rename Ann, the other to create a user.
    let read = users.read_item("ann", "ann", None).await.unwrap();
    let etag = read.headers().etag().unwrap().clone();
    let mut ann: Value = read.into_model().unwrap();
    reserve(&world, "zoe", "ann", Duration::HOUR).await;
    reserve(&world, "carl", "nobody", Duration::HOUR).await;
    user(&world, "u1", "Zoe").await.expect(201);
    user(&world, "u2", "Carl").await.expect(201);

    // Now they send their second write.
    ann["username"] = json!("Zoe");
    let as_read = ItemWriteOptions::default().with_precondition(Precondition::if_match(etag));
    let late = users.replace_item("ann", "ann", &ann, Some(as_read)).await;
    assert_eq!(u16::from(late.unwrap_err().status()), 412);
    let nobody = json!({"type": "user", "id": "nobody", "userId": "nobody", "username": "Carl"});
    let late = users.create_item("nobody", "nobody", &nobody, None).await;
    assert_eq!(u16::from(late.unwrap_err().status()), 409);
    assert_eq!(name_of(&world, "ann").await, "Ann");
}

#[tokio::test]
async fn a_reservation_that_is_fresh_or_in_use_is_respected() {
    let world = given::blog().await;
    reserve(&world, "zoe", "nobody", Duration::ZERO).await;
    reserve(&world, "carl", "ann", Duration::ZERO).await;
    world.delete_item("users", "username:ann", "username").await;
    reserve(&world, "ann", "ann", Duration::HOUR).await;
    for name in ["Zoe", "Carl", "ANN"] {
        problem(&user(&world, "new", name).await, 409);
    }
}

async fn name_of(world: &World, id: &str) -> Value {
    world.get(&format!("/api/users/{id}")).await.expect(200).json()["username"].clone()
}

/// Writes a reservation as a command does that crashes right after.
async fn reserve(world: &World, key: &str, owner: &str, age: Duration) {
    let reserved_at = (OffsetDateTime::now_utc() - age).format(&Rfc3339).unwrap();
    let reservation = json!({
        "type": "username", "id": "username", "userId": format!("username:{key}"), "owner": owner,
        "reservedAt": reserved_at,
    });
    world.write_item("users", &reservation).await;
}
