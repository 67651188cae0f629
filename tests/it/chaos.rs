//! Random commands of several clients under all kinds of chaos, compared with a reference model.
//!
//! Two instances of the app in this process take the commands in turns. To run a seed again:
//! `TRIBUTARY_SEED=7 cargo test --test it chaos`. The long run, against real processes, is
//! `cargo xtask chaos` (docs/chaos.md).

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use futures::{FutureExt, future::BoxFuture};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tributary_functions::{app::AppOptions, values::Clock};
use tributary_local::{
    chaos::{Chaos, ChaosKind, Random},
    cosmos::EndpointOptions,
    host::{Console, FeedOptions, RouterInvoker, repeating},
};
use tributary_simulator::{
    Api, Reply, Simulation, Workload,
    blog::{self, Blog},
    news::{self, News},
    simulate,
    webstore::{self, WebStore},
};
use tributary_tools::Call;

use crate::{audit, world::World};

const CHAOS: &str = "duplicates=0.3,reorder=0.3,overlap=0.3,crash=0.3,throttle=0.05,\
                     lost-answer=0.05,stale=0.3,repeat=0.2,split=2";

/// The probability that a handler is killed with a request under way, and below it the longest time
/// until then. The store is in this process and answers at once, so a kill meets only requests that
/// wait: for a throttling store, a lost answer, or another writer.
const KILL: f64 = 0.5;
const KILL_WITHIN_US: u64 = 5_000;

/// The instances of the app, asked in turns.
struct Instances {
    routers: [Router; 2],
    asked: AtomicUsize,
    /// The probability that a handler is killed with a request under way.
    kill: f64,
    kills: Mutex<Random>,
    quiet: AtomicBool,
}

impl Instances {
    fn of(one: &World, other: &World, chaos: &Chaos, (seed, kill): (u64, f64)) -> Self {
        let host = |world: &World| repeating(world.router.clone(), chaos.clone());
        Self {
            routers: [host(one), host(other)],
            asked: AtomicUsize::new(0),
            kill,
            kills: Mutex::new(Random::stream(seed, 1_000)),
            quiet: AtomicBool::new(false),
        }
    }

    /// Waits until the handler of the next request is killed, if it is.
    async fn killed(&self) {
        let after = {
            let mut random = self.kills.lock().unwrap();
            random.chance(self.kill).then(|| random.below(KILL_WITHIN_US))
        };
        match after {
            Some(us) if !self.quiet.load(Ordering::Relaxed) => {
                tokio::time::sleep(Duration::from_micros(us)).await;
            }
            _ => std::future::pending().await,
        }
    }
}

impl Api for Instances {
    fn send(&self, call: Call) -> BoxFuture<'_, Option<Reply>> {
        let router = &self.routers[self.asked.fetch_add(1, Ordering::Relaxed) % 2];
        async move {
            let mut request = Request::builder()
                .method(call.method)
                .uri(call.path)
                .header("content-type", "application/json");
            for (name, value) in call.headers {
                request = request.header(name, value);
            }
            let body = call.body.map_or_else(Body::empty, |body| body.to_string().into());
            // A handler that is killed drops what it has under way.
            let response = tokio::select! {
                response = router.clone().oneshot(request.body(body).unwrap()) => response.unwrap(),
                () = self.killed() => return None,
            };
            let (parts, body) = response.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            Some(Reply::new(parts.status, &parts.headers, &body))
        }
        .boxed()
    }
}

/// The most that a read is behind: the maximum of `stale`, and a second on a busy machine.
const BEHIND: Duration = Duration::from_secs(3);

/// A workload that has run under chaos, and is quiet.
struct Ran<W> {
    world: World,
    instances: Arc<Instances>,
    model: W,
    chaos: Chaos,
    /// The command that runs it again.
    again: String,
}

impl<W: Workload> Ran<W> {
    async fn new(workload: W, kill: f64, clock: Clock) -> Self {
        let seed = std::env::var("TRIBUTARY_SEED").map_or(1, |seed| seed.parse().unwrap());
        let chaos = Chaos::new(CHAOS.parse().unwrap(), seed);
        let options = EndpointOptions { chaos: Some(chaos.clone()), ..EndpointOptions::default() };
        let world = World::with_options(options).await;
        let settings = workload.settings();
        let settings: Vec<_> =
            settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let options = AppOptions { clock, ..World::options() };
        let world = world.with_settings(options, &settings).await;
        let second = world.with_settings(options, &settings).await;
        // In Azure, each trigger runs in instances of its own, which have no session of the others.
        let triggers = world.second_instance().await;
        let deliveries = FeedOptions {
            poll_delay: Some(Duration::from_millis(20)),
            retry_scale: 0.01,
            console: Console::silent(),
            chaos: Some(chaos.clone()),
            second_invoker: Some(Arc::new(RouterInvoker(second.router.clone()))),
            ..FeedOptions::default()
        };
        let stop = CancellationToken::new();
        let mut running = JoinSet::new();
        for pump in triggers.pumps(&deliveries) {
            let stop = stop.clone();
            running.spawn(async move { pump.run(stop).await });
        }
        let instances = Arc::new(Instances::of(&world, &second, &chaos, (seed, kill)));
        let simulation =
            Simulation { operations: 400, seed, patience: Duration::from_millis(5), crashes: true };
        let (model, tally) = simulate(instances.clone(), workload, &simulation).await.unwrap();
        chaos.stop();
        instances.quiet.store(true, Ordering::Relaxed);
        stop.cancel();
        while running.join_next().await.is_some() {}
        world.settle().await;
        let again = format!("TRIBUTARY_SEED={seed} cargo test --test it chaos");
        assert!(tally.wrong.is_empty(), "{again}\n{:#?}", tally.wrong);
        met_chaos(&chaos, &again);
        Self { world, instances, model, chaos, again }
    }

    /// Batches of the change feed were disturbed.
    fn met_deliveries(&self) {
        let deliveries = [ChaosKind::Duplicates, ChaosKind::Reorder, ChaosKind::Overlap];
        let count = injected(&self.chaos, &deliveries);
        assert!(count > 0, "{}: every batch was delivered as ever", self.again);
    }

    async fn check(&self, when: &str) {
        let divergences = self.model.check(&*self.instances).await;
        // A dead letter says why something differs.
        let letters = self.world.items("dead-letters").await;
        let is_right = divergences.is_empty() && letters.is_empty();
        assert!(is_right, "{}{when}\n{divergences:#?}\n{letters:#?}", self.again);
    }
}

/// A run this short meets each kind many times, but for splits and crashes, which wait for a moment,
/// and for any one way to deliver. A read that a replica answers is seldom another than the newest.
fn met_chaos(chaos: &Chaos, again: &str) {
    let count = |wanted: &[ChaosKind]| injected(chaos, wanted);
    assert!(count(&[ChaosKind::Throttle]) > 0, "{again}: nothing was throttled");
    assert!(count(&[ChaosKind::LostAnswer]) > 0, "{again}: no answer was lost");
    assert!(count(&[ChaosKind::Repeat]) > 0, "{again}: no request was repeated");
    assert!(chaos.reads_of_replicas() > 0, "{again}: no read was sent to a replica that lags");
}

fn injected(chaos: &Chaos, wanted: &[ChaosKind]) -> u64 {
    let injected = chaos.injected();
    injected.iter().filter(|(kind, _)| wanted.contains(kind)).map(|(_, n)| n).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_commands_under_chaos_end_as_the_model_says() {
    // More posts than the feed holds.
    let size = blog::BlogSize { clients: 6, users: 3, posts: 30, reuse_ids: true };
    let ran = Ran::new(Blog::new(size, BEHIND), KILL, Clock::default()).await;
    ran.met_deliveries();
    ran.check("").await;
    // The audit may find reservations that the killed left, its repair releases them and harms
    // nothing, and then there is nothing to find.
    let left = audit::leaked_reservations(&ran.world).await;
    let unexplained = ran.model.unexplained_reservations(&left);
    assert!(unexplained.is_empty(), "{}\n{unexplained:#?}", ran.again);
    audit::repair_all(&ran.world).await;
    ran.world.settle().await;
    ran.check(", after the repair").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_commands_of_a_shop_under_chaos_end_as_the_model_says() {
    let size = webstore::WebStoreSize { clients: 6, customers: 2, labels: 2, products: 5 };
    // A request that is dropped here is not killed with its process: its group commit goes on, and may
    // create an order after its client has sent it again and deleted it (docs/webstore.md). The long
    // run kills processes.
    let ran = Ran::new(WebStore::new(size, BEHIND), 0.0, Clock::default()).await;
    ran.met_deliveries();
    ran.check("").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_posts_of_items_that_grow_old_under_chaos_end_as_the_model_says() {
    let faster = tributary_simulator::Clock::faster(1_000);
    let (since, times) = faster.parts();
    let passes = faster.passes_in(Duration::from_secs(5));
    let size = news::NewsSize { clients: 6, items: 5, passes, poisoned: 0 };
    let workload = News::new(size, faster, BEHIND);
    let ran = Ran::new(workload, KILL, Clock::faster(times, since.into())).await;
    ran.check("").await;
    assert!(!ran.world.items("feeds_historical").await.is_empty(), "{}: nothing moved", ran.again);
}
