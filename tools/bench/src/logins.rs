//! Many clients that log in at the same time, beside readers: the requests a second that remain for the
//! readers.
//!
//! A login compares a password (`POST …/password/verify`), which takes a processor some 50 ms. A client
//! that gets a 503 waits for the time of `Retry-After`.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use futures::future::try_join_all;
use http::{Method, StatusCode, header::RETRY_AFTER};
use serde_json::json;
use tokio::time::sleep;
use tributary_tools::{
    Call, Sorted, Table,
    figures::{milliseconds, rate},
};

use crate::{handler::MeasuredHandler, http::Connection, machine, world::BenchWorld};

/// The size of the measurement, and the build.
#[derive(Debug, clap::Args)]
pub(crate) struct LoginsOptions {
    /// The time of each row, in seconds.
    #[arg(long, value_name = "S", default_value_t = 15)]
    seconds: u64,

    /// The number of clients that log in at the same time.
    #[arg(long, value_name = "N", default_value_t = 200)]
    logins: usize,

    /// The number of clients that read at the same time.
    #[arg(long, value_name = "N", default_value_t = 8)]
    readers: usize,

    /// The handler's executable; without it the one beside this program.
    #[arg(long, value_name = "PATH")]
    handler: Option<PathBuf>,
}

/// The counts of the clients of one kind.
#[derive(Default)]
struct LoginCounts {
    answered: Vec<Duration>,
    refused: usize,
}

pub(crate) async fn run(options: &LoginsOptions) -> anyhow::Result<()> {
    let world = BenchWorld::with(vec![customer(), password()]).await?;
    let executable = options.handler.clone().unwrap_or_else(|| world.app.executable());
    let mut table = Table::new([
        "logins at once",
        "readers",
        "reads/s",
        "p50, ms",
        "p99, ms",
        "not 2xx",
        "logins/s",
        "p50, ms",
        "p99, ms",
        "503",
    ]);
    for logins in [0, options.logins] {
        eprintln!("{logins} logins");
        let mut handler = MeasuredHandler::start(&world.app, &executable, |_| ())?;
        handler.ready().await?;
        let duration = Duration::from_secs(options.seconds);
        let read = Call::get("/api/customers/ann");
        let body = json!({"password": "correct horse battery"});
        let login = Call::new(Method::POST, "/api/customers/ann/password/verify").json(body);
        let (reads, logged_in) = tokio::try_join!(
            send(&handler, options.readers, duration, &read),
            send(&handler, logins, duration, &login),
        )?;
        handler.stop().await?;
        let cells = |met: LoginCounts| {
            let count = met.answered.len();
            let latencies = Sorted::from(met.answered);
            let [p50, p99] = [50, 99].map(|percent| milliseconds(latencies.percentile(percent)));
            [rate(count, duration), p50, p99, met.refused.to_string()]
        };
        let row = [logins.to_string(), options.readers.to_string()];
        table.row(row.into_iter().chain(cells(reads)).chain(cells(logged_in)));
    }
    println!("{} s each; {}\n\n{table}", options.seconds, machine::line());
    Ok(())
}

/// Lets a number of clients send a request repeatedly for a time.
async fn send(
    handler: &MeasuredHandler,
    clients: usize,
    duration: Duration,
    call: &Call,
) -> anyhow::Result<LoginCounts> {
    let begin = Instant::now();
    let all = (0..clients).map(async |_| {
        let connection = Connection::new(handler.address)?;
        let mut met = LoginCounts::default();
        while begin.elapsed() < duration {
            let sent = Instant::now();
            let reply = connection.send(call, "bench").await?;
            if reply.status.is_success() {
                met.answered.push(sent.elapsed());
                continue;
            }
            met.refused += 1;
            if reply.status == StatusCode::SERVICE_UNAVAILABLE {
                let seconds = reply.header(&RETRY_AFTER).and_then(|text| text.parse().ok());
                sleep(Duration::from_secs(seconds.unwrap_or(1))).await;
            }
        }
        anyhow::Ok(met)
    });
    let mut met = LoginCounts::default();
    for one in try_join_all(all).await? {
        met.answered.extend(one.answered);
        met.refused += one.refused;
    }
    Ok(met)
}

fn customer() -> Vec<Call> {
    let ann = json!({"firstName": "Ann", "lastName": "Lee", "emailAddress": "ann@example.com",
        "addresses": []});
    vec![Call::new(Method::PUT, "/api/customers/ann").json(ann)]
}

fn password() -> Vec<Call> {
    let body = json!({"password": "correct horse battery"});
    vec![Call::new(Method::PUT, "/api/customers/ann/password").json(body)]
}
