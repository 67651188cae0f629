//! The options of the feeds.

use std::{fmt::Write as _, time::Duration};

use clap::Args;

use super::{architecture::Architecture, containers::midnight, data::FeedsShape};
use crate::{measure::Effort, output::OutputOptions};

/// Measures the partitioning guide's four architectures for news feeds: the queries of its table
/// "Performance characteristics" and the writes, beside its estimates.
///
/// Each container gets a local Cosmos DB endpoint in this process: its request units are modelled, its
/// latencies are those of an emulator that scans. docs/feeds-architectures.md explains the numbers.
#[derive(Clone, Debug, Args)]
pub(crate) struct FeedsCli {
    /// Items of the longest time; a shorter one has its share.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub(super) items: u32,

    /// Months of data; each of several is measured.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_values_t = [12, 24], value_parser = clap::value_parser!(u32).range(1..=120))]
    pub(super) months: Vec<u32>,

    /// Providers. Five of them are of high volume, and publish half of all items.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(6..=10_000))]
    pub(super) providers: u32,

    /// The date of the requests, which are sent at its beginning, in UTC.
    #[arg(long, value_name = "DATE", default_value = "2026-11-16", value_parser = date)]
    pub(super) now: Date,

    /// Items of a bulk request. `POST /api/news/items/batch` takes 500 at most.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(super) bulk: u32,

    /// The seed of the data set and of the choice of items.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,

    /// Measures only these architectures.
    #[arg(long, value_name = "NAME,NAME", value_delimiter = ',', default_values_t = Architecture::ALL)]
    pub(super) architectures: Vec<Architecture>,

    /// The number of requests of each shape, at most.
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(super) requests: u32,

    /// The seconds after which no further request of a shape begins.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(super) seconds: u32,

    /// The items of a container for each physical partition. In Azure a partition takes 50 GB: this is
    /// that split, scaled down.
    #[arg(long, value_name = "N", default_value_t = 1_250, value_parser = clap::value_parser!(u32).range(10..))]
    pub(super) items_per_partition: u32,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

/// A date, and its beginning in seconds since 1970.
#[derive(Clone, Debug)]
pub(super) struct Date {
    text: String,
    seconds: i64,
}

fn date(text: &str) -> Result<Date, String> {
    let seconds = midnight(text).map_err(|error| error.to_string())?;
    // It leaves room for the months before it.
    let years = seconds >= midnight("1985-01-01").unwrap_or(0);
    if years { Ok(Date { text: text.to_owned(), seconds }) } else { Err("is too early".into()) }
}

impl FeedsCli {
    /// Returns the data sets to measure, the smallest first.
    pub(super) fn shapes(&self) -> Vec<FeedsShape> {
        let mut months = self.months.clone();
        months.sort_unstable();
        months.dedup();
        let longest = months.last().copied().unwrap_or(1).max(1);
        let shape = |months: u32| FeedsShape {
            items: (self.items * months).div_ceil(longest) as usize,
            months,
            providers: self.providers,
            seed: self.seed,
            now: self.now.seconds,
            bulk: self.bulk,
        };
        months.into_iter().map(shape).collect()
    }

    pub(super) fn effort(&self) -> Effort {
        Effort {
            requests: self.requests as usize,
            budget: Duration::from_secs(self.seconds.into()),
        }
    }

    /// Returns the command that repeats the measurement.
    pub(super) fn command(&self) -> String {
        fn list<T: ToString>(values: &[T]) -> String {
            values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
        }
        let mut command = format!(
            "cargo run --release -p model-bench -- feeds --items {} --months {} --providers {} \
             --now {} --bulk {} --seed {}",
            self.items,
            list(&self.months),
            self.providers,
            self.now.text,
            self.bulk,
            self.seed,
        );
        if self.architectures != Architecture::ALL {
            let _ = write!(command, " --architectures {}", list(&self.architectures));
        }
        let _ = write!(
            command,
            " --requests {} --seconds {} --items-per-partition {}",
            self.requests, self.seconds, self.items_per_partition,
        );
        command
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{ModelCli, OtherFamily};

    fn parse(options: &str) -> Result<FeedsCli, clap::Error> {
        let options = ["model-bench", "feeds"].into_iter().chain(options.split_whitespace());
        match ModelCli::try_parse_from(options)?.other {
            Some(OtherFamily::Feeds(cli)) => Ok(cli),
            None => unreachable!("the subcommand was given"),
        }
    }

    #[test]
    fn the_command_measures_the_same_again() {
        for options in [
            "",
            "--items 900 --months 3,6 --providers 9 --now 2026-01-02 --bulk 7 --seed 4 --requests 2 --seconds 1",
            "--architectures one,hot-warm-monthly --items-per-partition 77",
        ] {
            let cli = parse(options).unwrap();
            let again = cli.command();
            let again = parse(again.split_once(" feeds ").unwrap().1).unwrap();
            assert_eq!(format!("{cli:?}"), format!("{again:?}"), "{options}");
        }
    }

    #[test]
    fn a_shorter_time_has_its_share_of_the_items() {
        let shapes = parse("--months 24,6,24 --items 1001").unwrap().shapes();
        let sizes: Vec<_> = shapes.iter().map(|shape| (shape.months, shape.items)).collect();
        assert_eq!(sizes, [(6, 251), (24, 1_001)]);
    }

    #[test]
    fn nonsense_is_refused() {
        for options in [
            "--items 1",
            "--months 0",
            "--providers 5",
            "--now yesterday",
            "--now 2026-02-30",
            "--now 1970-01-01",
            "--items-per-partition 0",
            "--architectures cold",
        ] {
            assert!(parse(options).is_err(), "{options}");
        }
        let both = ["model-bench", "--users", "5", "feeds"];
        assert!(ModelCli::try_parse_from(both).is_err());
    }
}
