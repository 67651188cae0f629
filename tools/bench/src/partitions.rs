//! The overhead of the meter of logical partitions over a store operation: the meter, the name of the
//! partition, and the count.
//!
//! A task times each operation without the store. Many tasks at the same time show their wait for each
//! other: all count under one lock.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use tributary_functions::{
    cosmos::metered,
    telemetry::{Cost, PartitionCounter, PartitionNames, PartitionUse},
};
use tributary_tools::{Sorted, Table, mean};

use crate::machine;

/// The size of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct PartitionsOptions {
    /// The number of operations of each row.
    #[arg(long, value_name = "N", default_value_t = 400_000)]
    operations: usize,
}

/// Logical partitions, and tasks at the same time. The sketch holds 768 partitions; beyond them it
/// forgets some.
const CASES: [(u64, usize); 4] = [(100, 1), (100, 2), (100_000, 1), (100_000, 2)];

pub(crate) async fn run(options: &PartitionsOptions) -> anyhow::Result<()> {
    let mut table =
        Table::new(["partitions", "tasks", "mean, µs", "p50, µs", "p99, µs", "max, µs"]);
    for (keys, tasks) in CASES {
        let partitions: &PartitionCounter =
            Box::leak(PartitionCounter::new(PartitionNames::Hashed).into());
        let each = options.operations / tasks;
        let running = (0..tasks).map(|task| tokio::spawn(measure(partitions, keys, task, each)));
        let took: Vec<Duration> = try_join_all(running).await?.into_iter().flatten().collect();
        let average = mean(took.iter().map(Duration::as_secs_f64));
        let sorted = Sorted::from(took);
        table.row([
            keys.to_string(),
            tasks.to_string(),
            microseconds(Duration::from_secs_f64(average)),
            microseconds(sorted.percentile(50)),
            microseconds(sorted.percentile(99)),
            microseconds(sorted.percentile(100)),
        ]);
    }
    println!("{} operations each; {}\n\n{table}", options.operations, machine::line());
    Ok(())
}

async fn measure(
    partitions: &PartitionCounter,
    keys: u64,
    task: usize,
    operations: usize,
) -> Vec<Duration> {
    let mut took = Vec::with_capacity(operations);
    for number in 0..operations as u64 {
        // The keys in an order of its own for each task.
        let number = number.wrapping_mul(0x9e37_79b9).wrapping_add(task as u64 * 77);
        let key = format!("user-{:08}", number % keys);
        let begin = Instant::now();
        let ((), meter) = metered(async {}).await;
        let cost = Cost { request_units: 2.84, ..Cost::from(&*meter) };
        let partition = Some(key.as_str());
        partitions.record(&PartitionUse {
            container: "users",
            partition,
            begins_query: true,
            cost,
        });
        took.push(begin.elapsed());
    }
    took
}

fn microseconds(duration: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() * 1e6)
}
