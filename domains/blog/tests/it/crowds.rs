//! Comments and likes of one post that come at the same time go to the store together.

use futures::{
    FutureExt,
    future::{LocalBoxFuture, join, join_all},
    poll,
};
use serde_json::json;
use tributary_functions::cosmos::metered;
use tributary_local::cosmos::RequestKind::Batch;

use super::given;
use tributary_testing::interleavings::held;

use crate::world::{Answer, World};

type Command<'a> = LocalBoxFuture<'a, Answer>;

/// Sends the first command, which goes to the store at once, and the others while it is on its way.
/// `meanwhile` runs while they wait.
async fn crowd_amid(
    world: &World,
    first: Command<'_>,
    others: Vec<Command<'_>>,
    meanwhile: impl Future<Output = ()>,
) -> (Answer, Vec<Answer>) {
    let (hold, first) = held((world, Batch, "posts"), first).await;
    let mut others = join_all(others).boxed_local();
    assert!(poll!(&mut others).is_pending(), "they wait for the first");
    meanwhile.await;
    hold.release();
    join(first, others).await
}

fn like<'a>(world: &'a World, user: &'a str) -> Command<'a> {
    given::like(world, "p1", user).boxed_local()
}

fn edit<'a>(world: &'a World, title: &'a str) -> Command<'a> {
    let body = json!({"userId": "ann", "title": title, "content": "C"});
    async move { world.put("/api/posts/p1", body).await }.boxed_local()
}

/// The world of `given::blog` with users u0 to u(n-1), which the app has just seen.
async fn world_with_users(n: usize) -> (World, Vec<String>) {
    let world = given::blog().await;
    let users: Vec<_> = (0..n).map(|n| format!("u{n}")).collect();
    for user in &users {
        given::user(&world, user, &format!("User {user}")).await.expect(201);
    }
    (world, users)
}

fn statuses(answers: &[Answer]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status.as_u16()).collect()
}

fn charge(answer: &Answer) -> f64 {
    answer.header("x-ms-request-charge").parse().unwrap()
}

#[tokio::test]
async fn the_charge_of_a_crowd_is_shared_to_the_hundredth() {
    let (world, users) = world_with_users(8).await;
    let others = users[1..].iter().map(|user| like(&world, user)).collect();
    let work = crowd_amid(&world, like(&world, &users[0]), others, async {});
    let ((first, others), whole) = metered(work).await;
    assert_eq!(whole.requests(), 3);
    let charges: Vec<_> = others.iter().map(charge).collect();
    let (most, least) =
        charges.iter().fold((0.0, f64::MAX), |(most, least), &one| (one.max(most), one.min(least)));
    assert!(least > 0.0 && most - least < 0.011, "{charges:?}");

    // Alone, each of them would cost one more read and one more write of the post.
    let alone = charge(&first);
    let sum: f64 = charges.iter().sum();
    assert!((alone + sum - whole.request_units()).abs() < 1e-9, "{charges:?}, alone {alone}");
    assert!(most < alone && sum > alone, "{charges:?}, alone {alone}");
}

#[tokio::test]
async fn an_edit_of_a_post_that_is_deleted_meanwhile_is_decided_anew() {
    let (world, users) = world_with_users(1).await;
    let other = world.second_instance().await;
    // The author of the post that takes its place, and the statuses of the edit and of the like.
    for (author, edited, liked) in
        [(None, 201, 404), (Some("ann"), 200, 201), (Some("bob"), 409, 201)]
    {
        let meanwhile = async {
            other.delete("/api/posts/p1").await.expect(204);
            if let Some(author) = author {
                given::post(&other, "p1", author).await.expect(201);
            }
        };
        let others = vec![edit(&world, author.unwrap_or("nobody"))];
        let first = like(&world, &users[0]);
        let (first, others) = crowd_amid(&world, first, others, meanwhile).await;
        assert_eq!((first.status.as_u16(), statuses(&others)), (liked, vec![edited]));
    }
}
