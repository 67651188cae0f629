//! `cargo xtask bench feed`: the projections, with the pump of the stand-in for the host and the real
//! handler.

mod blog;
mod lag;

use std::time::Duration;

use self::blog::FeedApp;
use crate::{
    machine,
    report::{Table, each, rate},
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

    /// Posts, comments and likes a second of the steady load.
    #[arg(long, value_name = "N", default_value_t = 50)]
    rate: u32,
}

#[derive(Default)]
struct Drained {
    changes: usize,
    took: Duration,
    requests: f64,
    request_units: f64,
}

pub(crate) async fn run(options: &FeedBenchOptions) -> anyhow::Result<()> {
    anyhow::ensure!(options.posts >= 200, "--posts must be at least 200");
    anyhow::ensure!((1..=1_000).contains(&options.rate), "--rate must be between 1 and 1,000");
    let table = each_by_itself(options.posts).await?;
    println!("Pending changes, each projection by itself; {}\n\n{table}", machine::line());
    if options.seconds > 0 {
        println!("Lag from the answer to a write until it is in the copies, under a steady load\n");
        println!("{}", lag::lag(options.rate, options.seconds).await?);
    }
    Ok(())
}

/// Measures one projection at a time, on each kind of change of a post.
async fn each_by_itself(n: usize) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "changes",
        "projection",
        "changes",
        "changes a second",
        "requests a change",
        "RU a change",
    ]);
    let mut app = FeedApp::start().await?;
    app.write_posts(0..n).await?;
    measure(&mut app, "new posts", &mut table).await?;
    app.like_posts(0..n).await?;
    measure(&mut app, "posts that were liked, and the likes", &mut table).await?;
    app.name_users("Writer").await?;
    // Few users with many items: each post has its author's name, and its like the name of another
    // user.
    let drained = Drained { changes: 2 * n, ..app.drain(OF_USERS).await? };
    row(&mut table, "names on posts and likes of renamed users", OF_USERS, &drained);
    measure(&mut app, "posts and likes under a new name", &mut table).await?;
    app.delete_posts(n - 100..n).await?;
    measure(&mut app, "the newest posts deleted", &mut table).await?;
    app.check().await?;
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
