//! `cargo xtask bench feed`: the projections, with the pump of the stand-in for the host and the real
//! handler.

mod lag;

use std::time::{Duration, Instant};

use anyhow::ensure;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;
use tributary_local::client::Call;

use crate::{
    handler::{LOG_DELAY, MeasuredHandler},
    machine,
    report::{Table, each, rate},
    world::{BenchWorld, USERS, WRITERS, author, like, send_all, user},
};

/// The projections that read `posts`, and the one that reads `users`.
const OF_POSTS: [&str; 3] = ["PostCopiesInUsers", "HomeFeed", "PostsIntegrity"];
const OF_USERS: &str = "UsernamesInPosts";

/// The size of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct FeedBenchOptions {
    /// The number of posts; at least 200.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    posts: usize,

    /// The time of the steady load, in seconds; 0 skips it.
    #[arg(long, value_name = "S", default_value_t = 10)]
    seconds: u32,
}

struct FeedApp {
    world: BenchWorld,
    handler: MeasuredHandler,
}

struct Drained {
    changes: usize,
    took: Duration,
    requests: f64,
    request_units: f64,
}

pub(crate) async fn run(options: &FeedBenchOptions) -> anyhow::Result<()> {
    ensure!(options.posts >= 200, "--posts must be at least 200");
    let table = each_by_itself(options.posts).await?;
    println!("Pending changes, each projection by itself; {}\n\n{table}", machine::line());
    if options.seconds > 0 {
        println!("Lag from the answer to a write until it is in the copies, under a steady load\n");
        println!("{}", lag::lag(options.seconds).await?);
    }
    Ok(())
}

async fn each_by_itself(n: usize) -> anyhow::Result<Table> {
    let mut table = Table::new(
        "changes | projection | changes | changes a second | requests a change | RU a change",
    );
    let mut app = FeedApp::start().await?;
    app.write_posts(n).await?;
    measure(&mut app, "new posts", &mut table).await?;
    // The author of the next post likes each.
    app.send((0..n).map(|n| like(n, &author(n + 1)))).await?;
    measure(&mut app, "posts that were liked, and the likes", &mut table).await?;
    app.name_users("Writer").await?;
    // Few users with many items: each post has its author's name, and its like the name of another
    // user.
    let drained = Drained { changes: 2 * n, ..app.drain(OF_USERS).await? };
    row(&mut table, "names on posts and likes of renamed users", OF_USERS, &drained);
    measure(&mut app, "posts and likes under a new name", &mut table).await?;
    app.send((n - 100..n).map(|n| Call::delete(format!("/api/posts/p{n}")))).await?;
    measure(&mut app, "the newest posts deleted", &mut table).await?;
    app.world.check(&app.handler).await?;
    Ok(table)
}

async fn measure(app: &mut FeedApp, what: &str, table: &mut Table) -> anyhow::Result<()> {
    for function in OF_POSTS {
        row(table, what, function, &app.drain(function).await?);
    }
    Ok(())
}

fn row(table: &mut Table, what: &str, projection: &str, drained: &Drained) {
    let Drained { changes, took, requests, request_units } = *drained;
    eprintln!("{what}, {projection}: {} changes a second", rate(changes, took));
    table.row([
        what.to_owned(),
        projection.to_owned(),
        changes.to_string(),
        rate(changes, took),
        each(requests, changes),
        each(request_units, changes),
    ]);
}

impl FeedApp {
    async fn start() -> anyhow::Result<Self> {
        let mut world = BenchWorld::with_partitions(1).await?;
        world.app.settings.set("Rename__RequestUnitsPerSecond", "0");
        let handler = MeasuredHandler::ready_on(&world.app).await?;
        let app = Self { world, handler };
        app.name_users("Author").await?;
        Ok(app)
    }

    async fn name_users(&self, name: &str) -> anyhow::Result<()> {
        self.send((0..USERS).map(|n| user(&author(n), &format!("{name}{n}")))).await
    }

    async fn send(&self, calls: impl Iterator<Item = Call>) -> anyhow::Result<()> {
        send_all(&self.handler, calls.collect()).await
    }

    /// Writes posts past the app, which would write the copies for their authors, too.
    async fn write_posts(&self, n: usize) -> anyhow::Result<()> {
        let posts = self.world.container("posts").await?;
        let writes = (0..n).map(async |n| {
            let id = format!("p{n}");
            let [hour, minute, second] = [n / 3_600 % 24, n / 60 % 60, n % 60];
            let item = json!({
                "type": "post", "id": id, "postId": id, "userId": author(n),
                "userUsername": format!("Author{}", n % USERS), "title": "A title",
                "content": "A text of some length. ".repeat(40), "commentCount": 0, "likeCount": 0,
                "creationDate": format!("2026-01-01T{hour:02}:{minute:02}:{second:02}.000Z"),
                "version": 1, "usernameVersion": 1,
            });
            posts.upsert_item(id.clone(), &id, &item, None).await?;
            Ok(())
        });
        stream::iter(writes).buffer_unordered(WRITERS).try_collect().await
    }

    /// The cost is that of the lines of the handler's log.
    async fn drain(&mut self, function: &str) -> anyhow::Result<Drained> {
        self.handler.costs();
        let begin = Instant::now();
        let changes = self.world.drain(&self.handler, &[function]).await?;
        let took = begin.elapsed();
        tokio::time::sleep(LOG_DELAY).await;
        let [requests, request_units] = self.handler.costs();
        Ok(Drained { changes, took, requests, request_units })
    }
}
