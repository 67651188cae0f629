//! `cargo xtask bench feed`: the projections, with the pump of the stand-in for the host and the real
//! handler.

mod app;
mod blog;
mod lag;

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use tributary_local::host::FeedPump;

use self::app::{FeedApp, FeedCost};
use crate::machine;
use crate::report::{Table, each, rate};

/// The projections that read `posts`; the fourth reads `users`.
const OF_POSTS: [&str; 3] = ["PostCopiesInUsers", "HomeFeed", "PostsIntegrity"];
const OF_USERS: &str = "UsernamesInPosts";
const ALL: [&str; 4] = ["UsernamesInPosts", "PostCopiesInUsers", "HomeFeed", "PostsIntegrity"];

/// The size of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct FeedBenchOptions {
    /// The number of posts; at least 200.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    posts: usize,

    /// The time of the steady load, in seconds; 0 skips it.
    #[arg(long, value_name = "S", default_value_t = 10)]
    seconds: u32,

    /// Posts, comments and likes a second of the steady load.
    #[arg(long, value_name = "N", default_value_t = 50)]
    rate: u32,
}

pub(crate) async fn run(options: &FeedBenchOptions) -> anyhow::Result<()> {
    anyhow::ensure!(options.posts >= 200, "--posts must be at least 200");
    anyhow::ensure!((1..=1_000).contains(&options.rate), "--rate must be between 1 and 1,000");
    let mut table = Table::new([
        "changes",
        "projection",
        "changes",
        "changes a second",
        "requests a change",
        "RU a change",
    ]);
    each_by_itself(options, &mut table).await?;
    println!("Pending changes, each projection by itself; {}\n", machine::line());
    println!("{table}");
    if options.seconds > 0 {
        println!("Lag from the answer to a write until it is in the copies, under a steady load\n");
        println!("{}", lag::lag(options.rate, options.seconds).await?);
    }
    Ok(())
}

/// Measures one projection at a time, on each kind of change of a post.
async fn each_by_itself(options: &FeedBenchOptions, table: &mut Table) -> anyhow::Result<()> {
    let app = FeedApp::start().await?;
    app.users().await?;
    let n = options.posts;
    app.blog.write_posts(0..n).await?;
    measure(&app, "new posts", &OF_POSTS, table).await?;
    app.blog.like_posts(0..n).await?;
    measure(&app, "posts that were liked, and the likes", &OF_POSTS, table).await?;
    app.rename_users().await?;
    let (changes, took) = drain(&app, &[OF_USERS]).await?;
    let cost = app.cost(&[OF_USERS], changes).await?;
    // Few users with many items: each post has its author's name, and its like the name of another
    // user.
    row(table, "names on posts and likes of renamed users", OF_USERS, 2 * n, took, cost);
    measure(&app, "posts and likes under a new name", &OF_POSTS, table).await?;
    app.blog.delete_posts(n - 100..n).await?;
    measure(&app, "the newest posts deleted", &OF_POSTS, table).await?;
    drain(&app, &ALL).await?;
    app.check().await
}

async fn measure(
    app: &FeedApp,
    what: &str,
    functions: &[&str],
    table: &mut Table,
) -> anyhow::Result<()> {
    for &function in functions {
        let (changes, took) = drain(app, &[function]).await?;
        let cost = app.cost(&[function], changes).await?;
        row(table, what, function, changes, took, cost);
    }
    Ok(())
}

fn row(
    table: &mut Table,
    what: &str,
    projection: &str,
    changes: usize,
    took: Duration,
    cost: FeedCost,
) {
    eprintln!("{what}, {projection}: {} changes a second", rate(changes, took));
    table.row([
        what.to_owned(),
        projection.to_owned(),
        changes.to_string(),
        rate(changes, took),
        each(cost.requests, changes),
        each(cost.request_units, changes),
    ]);
}

/// Delivers all pending changes, and returns their number and the time.
async fn drain(app: &FeedApp, functions: &[&str]) -> anyhow::Result<(usize, Duration)> {
    let begin = Instant::now();
    let mut changes = 0;
    loop {
        let pumps = functions.iter().map(|function| app.pump(function));
        let pumps: Vec<_> = pumps.collect::<anyhow::Result<_>>()?;
        let more: usize = try_join_all(pumps.iter().map(FeedPump::drain)).await?.iter().sum();
        changes += more;
        // A write of one projection may be a change for another.
        if more == 0 || functions.len() == 1 {
            return Ok((changes, begin.elapsed()));
        }
    }
}
