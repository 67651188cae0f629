//! The options of the blog's models.

use std::{fmt::Write as _, time::Duration};

use clap::Args;

use super::{data::BlogShape, request::ModelVersion};
use crate::{measure::Effort, output::OutputOptions};

/// Density of a sweep: all comments and likes take almost ten times as long to load.
const DENSITY_OF_A_SWEEP: f64 = 0.1;

// The help begins with the lines of the command.
#[derive(Clone, Debug, Args)]
pub(crate) struct BlogCli {
    /// Users that write posts, 5 to 50 each. At least 100 users comment and like.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) users: u32,

    /// Repeats all with these numbers of users, and shows the growth; the comments and likes are a
    /// tenth of the article's then, without --density.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', conflicts_with_all = ["users", "keep"], value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) sweep: Vec<u32>,

    /// The share of the article's comments and likes (up to 25 and up to 100 a post).
    #[arg(long, value_name = "0…1", value_parser = share)]
    pub(crate) density: Option<f64>,

    /// The seed of the data set and of the choice of users and posts.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Measures only these models.
    #[arg(long, value_name = "V,V", value_delimiter = ',', ignore_case = true, default_values_t = ModelVersion::ALL)]
    pub(crate) models: Vec<ModelVersion>,

    /// The number of requests of each kind, at most.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) requests: u32,

    /// The seconds after which no further request of a kind begins; the column RUNS has the number of
    /// requests.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) seconds: u32,

    /// The users for each physical partition. In Azure a partition takes 50 GB: this is that split,
    /// scaled down.
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) users_per_partition: u32,

    /// Physical partitions of each container, for any number of users.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) partitions: Option<u32>,

    /// Measures an account or another emulator instead: AccountEndpoint=…;AccountKey=…. The databases
    /// model-bench-v1, -v2 and -v3 are created there, and deleted in the end.
    #[arg(long, value_name = "CONNECTION", conflicts_with_all = ["partitions", "users_per_partition"])]
    pub(crate) cosmos: Option<String>,

    /// Keeps the databases of --cosmos.
    #[arg(long, requires = "cosmos")]
    pub(crate) keep: bool,

    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

impl BlogCli {
    /// Returns the data sets to measure.
    pub(super) fn shapes(&self) -> Vec<BlogShape> {
        let shape = |users, density| BlogShape { users, seed: self.seed, density };
        if self.sweep.is_empty() {
            return vec![shape(self.users, self.density.unwrap_or(1.0))];
        }
        let mut sizes = self.sweep.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let density = self.density.unwrap_or(DENSITY_OF_A_SWEEP);
        sizes.into_iter().map(|users| shape(users, density)).collect()
    }

    /// Returns the number of physical partitions of the containers for a number of users.
    pub(super) fn partitions_for(&self, users: u32) -> u32 {
        let scaled = users.div_ceil(self.users_per_partition.max(1)).min(1_000);
        self.partitions.unwrap_or(scaled)
    }

    pub(super) fn effort(&self) -> Effort {
        Effort {
            requests: self.requests as usize,
            budget: Duration::from_secs(self.seconds.into()),
        }
    }

    /// Returns the command that repeats the measurement, without the account's key.
    pub(super) fn command(&self) -> String {
        let mut command = "cargo run --release -p model-bench --".to_owned();
        let mut option = |name: &str, value: &dyn std::fmt::Display| {
            let _ = write!(command, " --{name} {value}");
        };
        if self.sweep.is_empty() {
            option("users", &self.users);
        } else {
            let sizes: Vec<String> = self.sweep.iter().map(ToString::to_string).collect();
            option("sweep", &sizes.join(","));
        }
        if let Some(density) = self.density {
            option("density", &density);
        }
        option("seed", &self.seed);
        if self.models != ModelVersion::ALL {
            let models: Vec<String> = self.models.iter().map(ToString::to_string).collect();
            option("models", &models.join(","));
        }
        option("requests", &self.requests);
        option("seconds", &self.seconds);
        match (&self.cosmos, self.partitions) {
            (Some(_), _) => option("cosmos", &"…"),
            (None, Some(partitions)) => option("partitions", &partitions),
            (None, None) => option("users-per-partition", &self.users_per_partition),
        }
        command
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::BlogCli;
    use crate::cli::ModelCli;

    fn parse(options: &str) -> Result<BlogCli, clap::Error> {
        let options = ["model-bench"].into_iter().chain(options.split_whitespace());
        Ok(ModelCli::try_parse_from(options)?.blog)
    }

    #[test]
    fn the_command_measures_the_same_again() {
        for options in [
            "",
            "--users 7 --density 0.5 --seed 3 --models v3 --requests 4 --seconds 2 --partitions 9",
            "--sweep 100,50 --users-per-partition 10 --models v1,V2",
        ] {
            let cli = parse(options).unwrap();
            let again = cli.command();
            let again = parse(again.split_once(" -- ").unwrap().1).unwrap();
            assert_eq!(format!("{cli:?}"), format!("{again:?}"), "{options}");
        }
    }

    #[test]
    fn a_key_is_not_repeated() {
        let cli = parse("--cosmos AccountEndpoint=https://a/;AccountKey=a2V5").unwrap();
        assert!(!cli.command().contains("a2V5"));
    }

    #[test]
    fn a_sweep_goes_up_and_its_partitions_with_it() {
        let cli = parse("--sweep 400,50,50").unwrap();
        let users: Vec<u32> = cli.shapes().iter().map(|shape| shape.users).collect();
        assert_eq!(users, [50, 400]);
        assert!(cli.shapes().iter().all(|shape| shape.density < 1.0));
        assert_eq!([1, 25, 26, 400, 100_000].map(|n| cli.partitions_for(n)), [1, 1, 2, 16, 1_000]);
    }

    #[test]
    fn nonsense_is_refused() {
        for options in [
            "--users 0",
            "--users 5 --sweep 1,2",
            "--sweep 1,x",
            "--density 1.1",
            "--density NaN",
            "--partitions 0",
            "--users-per-partition 0",
            "--seconds 21",
            "--keep",
            "--models v4",
        ] {
            assert!(parse(options).is_err(), "{options}");
        }
    }
}
