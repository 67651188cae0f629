//! The ten requests, and the three models that answer them.

use std::fmt;

use serde::Serialize;

/// A request of the seed article, in the order of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Request {
    C1,
    Q1,
    C2,
    Q2,
    Q3,
    C3,
    Q4,
    C4,
    Q5,
    Q6,
}

impl Request {
    /// All of them.
    pub(crate) const ALL: [Self; 10] = {
        use Request::{C1, C2, C3, C4, Q1, Q2, Q3, Q4, Q5, Q6};
        [C1, Q1, C2, Q2, Q3, C3, Q4, C4, Q5, Q6]
    };

    /// What it is for.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::C1 => "create a user",
            Self::Q1 => "a user",
            Self::C2 => "create a post",
            Self::Q2 => "a post",
            Self::Q3 => "posts of a user",
            Self::C3 => "create a comment",
            Self::Q4 => "comments on a post",
            Self::C4 => "like a post",
            Self::Q5 => "likes of a post",
            Self::Q6 => "the feed",
        }
    }

    /// Whether it writes.
    pub(crate) fn is_command(self) -> bool {
        matches!(self, Self::C1 | Self::C2 | Self::C3 | Self::C4)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A model of the seed article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
pub(crate) enum Version {
    V1,
    V2,
    V3,
}

impl Version {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::V1, Self::V2, Self::V3];

    /// The database that it is given.
    pub(crate) fn database(self) -> &'static str {
        match self {
            Self::V1 => "model-bench-v1",
            Self::V2 => "model-bench-v2",
            Self::V3 => "model-bench-v3",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
