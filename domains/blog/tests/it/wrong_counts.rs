//! The number of a user's posts, built rightly and wrongly: the proof, chaos and the audit pass the
//! right one, and name the fault of the other.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tributary_blog::model::PostsItem;
use tributary_functions::{
    cosmos::{Container, Cosmos, StoreError, Stored, Transaction},
    projection::{
        AnyProjection, ChangeFeedItem, Effect, Projection,
        aggregate::{Aggregate, Contribution, Share, Total},
    },
};
use tributary_local::{
    chaos::{Chaos, ChaosKind, Random},
    cosmos::EndpointOptions,
    host::{Console, FeedOptions},
};

use super::{
    given,
    proofs::{PostCounts, Posts, audited},
};
use crate::world::{Answer, World};
use tributary_testing::proof::{self, compare_totals, totals_container};

const COUNTS: &str = "post-counts";
const CHAOS: &str = "duplicates=0.3,reorder=0.3,overlap=0.3,crash=0.3,throttle=0.03,\
                     lost-answer=0.05,stale=0.3,split=1";
const OWNERS: [&str; 3] = ["ann", "bob", "cleo"];

/// The shares and totals of the aggregate, without its holder.
///
/// A share takes newer versions only, and changes its total in the same transaction: duplicates and
/// late deliveries do no harm. But the share of an author goes only with the tombstone of the post,
/// and the change feed shows none when another author's post follows at once under the same id.
struct WithoutHolder {
    posts: Container,
    totals: Container,
}

impl Projection for WithoutHolder {
    const FUNCTION: &'static str = PostCounts::FUNCTION;
    type Change = PostsItem;

    fn container(&self) -> &Container {
        &self.posts
    }

    async fn apply(&self, change: &PostsItem) -> Result<Effect, StoreError> {
        let Some(origin) = change.origin() else { return Ok(Effect::Unchanged) };
        let Contribution { key, amount } = match change {
            PostsItem::DeletedPost(tombstone) => {
                Contribution { key: tombstone.user_id.to_string(), amount: 0 }
            }
            post => PostCounts::contribution(post).unwrap(),
        };
        let totals = &self.totals;
        let id = Share::id(&origin.name());
        let before: Option<Stored<Share>> = totals.read(&key, &id).await?;
        if before.as_ref().is_some_and(|before| before.item.version >= origin.version) {
            return Ok(Effect::Older);
        }
        let total: Option<Stored<Total>> = totals.read(&key, Total::ID).await?;
        let counted = before.as_ref().map_or(0, |before| before.item.amount);
        let value = total.as_ref().map_or(0, |total| total.item.value) + amount - counted;
        let share = json!({"id": id, "key": key, "version": origin.version, "amount": amount});
        let sum = json!({"id": Total::ID, "key": key, "value": value});
        let write = Transaction::new(&key)
            .put(&id, &share, before.as_ref().map(|before| &before.etag))?
            .put(Total::ID, &sum, total.as_ref().map(|total| &total.etag))?;
        totals.transact(write).await.map_err(|refusal| refusal.error)?;
        Ok(Effect::Applied)
    }
}

fn right(cosmos: &Arc<Cosmos>) -> Arc<dyn AnyProjection> {
    Arc::new(PostCounts::projection(cosmos))
}

fn wrong(cosmos: &Arc<Cosmos>) -> Arc<dyn AnyProjection> {
    let [posts, totals] = ["posts", COUNTS].map(|id| cosmos.container(id));
    Arc::new(WithoutHolder { posts, totals })
}

/// Checks that each total is the number of posts of its user.
async fn compared(world: &World) -> Result<(), String> {
    let last = world.items("posts").await;
    compare_totals::<PostCounts>(&world.items(COUNTS).await, &last)
}

/// Sends a command until its outcome is known.
async fn acknowledged(command: impl AsyncFn() -> Answer) {
    for _ in 0..100 {
        let answer = command().await;
        match answer.status.as_u16() {
            // The first delete was carried out, and its answer was lost.
            200 | 201 | 204 | 404 => return,
            429 | 503 => {}
            _ => panic!("{}", answer.text),
        }
    }
    panic!("a command is never acknowledged");
}

/// A world in which posts were deleted and written again by others at once, and counted meanwhile.
async fn under_chaos(count: fn(&Arc<Cosmos>) -> Arc<dyn AnyProjection>) -> World {
    let chaos = Chaos::new(CHAOS.parse().unwrap(), 14);
    let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
    let world = World::with_options(options).await;
    proof::provision(&world, &json!([totals_container(COUNTS)])).await;
    let one = world.instance_of(count(&World::cosmos(&world.endpoint).await)).await;
    let other = world.instance_of(count(&World::cosmos(&world.endpoint).await)).await;
    let options = FeedOptions {
        poll_delay: Some(Duration::from_millis(5)),
        retry_scale: 0.01,
        console: Console::silent(),
        chaos: Some(chaos.clone()),
        second_invoker: Some(Arc::new(other)),
        ..FeedOptions::default()
    };
    let names = (PostCounts::FUNCTION, "PostsIntegrity");
    let pump = world.pump_of(names, &one, &options);
    let stop = CancellationToken::new();
    let mut running = JoinSet::new();
    let until = stop.clone();
    running.spawn(async move { pump.run(until).await });

    let mut random = Random::stream(14, 1);
    for owner in OWNERS {
        acknowledged(async || given::user(&world, owner, owner).await).await;
    }
    for _ in 0..60 {
        let post = format!("p{}", random.below(6));
        let owner = OWNERS[random.index(OWNERS.len())];
        acknowledged(async || world.delete(&format!("/api/posts/{post}")).await).await;
        acknowledged(async || given::post(&world, &post, owner).await).await;
        tokio::time::sleep(Duration::from_millis(random.below(10))).await;
    }
    chaos.stop();
    stop.cancel();
    while running.join_next().await.is_some() {}
    let drain = FeedOptions { console: Console::kept(), chaos: None, ..options };
    while world.pump_of(names, &one, &drain).drain().await.unwrap() > 0 {}
    let met = chaos.injected().into_iter().filter(|(_, times)| *times > 0).map(|(kind, _)| kind);
    let met: Vec<ChaosKind> = met.collect();
    assert!(met.contains(&ChaosKind::Throttle) && met.contains(&ChaosKind::LostAnswer), "{met:?}");
    assert_eq!(world.items("dead-letters").await, [json!(null); 0]);
    world
}

#[test]
fn the_proof_names_a_count_that_forgets_the_owner_of_a_post() {
    let proven =
        proof::holds::<Posts>(&json!([totals_container(COUNTS)]), wrong, &async |world, last| {
            compare_totals::<PostCounts>(&world.items(COUNTS).await, last)
        });
    let error = proven.unwrap_err();
    assert!(error.contains("the total of u"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_aggregate_ends_right_under_chaos_and_a_forgetful_count_does_not() {
    let world = under_chaos(right).await;
    compared(&world).await.unwrap();
    assert_eq!(audited(&world, false).await, [""; 0]);

    let world = under_chaos(wrong).await;
    let error = compared(&world).await.unwrap_err();
    assert!(error.contains("the total of"), "{error}");
    let found = audited(&world, false).await;
    assert!(found.iter().any(|found| found.starts_with("copy-extra")), "{found:?}");
    audited(&world, true).await;
    compared(&world).await.unwrap();
}

#[tokio::test]
async fn the_audit_names_the_post_that_a_count_forgot_and_finds_nothing_in_the_aggregate() {
    for (count, expected) in [(right as fn(&_) -> _, vec![]), (wrong, vec!["copy-extra ann of p1"])]
    {
        let world = given::blog().await;
        proof::provision(&world, &json!([totals_container(COUNTS)])).await;
        let instance = world.instance_of(count(&World::cosmos(&world.endpoint).await)).await;
        let names = (PostCounts::FUNCTION, "PostsIntegrity");
        let quiet = FeedOptions { console: Console::kept(), ..FeedOptions::default() };
        let pump = world.pump_of(names, &instance, &quiet);
        pump.drain().await.unwrap();
        // No count is wrong so far.
        assert_eq!(audited(&world, false).await, [""; 0]);
        world.delete("/api/posts/p1").await.expect(204);
        given::post(&world, "p1", "bob").await.expect(201);
        pump.drain().await.unwrap();
        assert_eq!(audited(&world, false).await, expected);
    }
}
