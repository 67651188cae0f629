//! The ten requests, and the three models that answer them.

use std::fmt;

use serde::Serialize;

/// A request of the seed article, in the order of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum BlogRequest {
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

impl BlogRequest {
    /// All requests.
    pub(crate) const ALL: [Self; 10] = {
        use BlogRequest::{C1, C2, C3, C4, Q1, Q2, Q3, Q4, Q5, Q6};
        [C1, Q1, C2, Q2, Q3, C3, Q4, C4, Q5, Q6]
    };

    /// Returns the purpose of the request.
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

    /// Returns true if the request writes.
    pub(crate) fn is_command(self) -> bool {
        matches!(self, Self::C1 | Self::C2 | Self::C3 | Self::C4)
    }
}

impl fmt::Display for BlogRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A model of the seed article.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
pub(crate) enum ModelVersion {
    V1,
    V2,
    V3,
}

impl ModelVersion {
    /// All models.
    pub(crate) const ALL: [Self; 3] = [Self::V1, Self::V2, Self::V3];

    /// Returns the name of its database.
    pub(crate) fn database(self) -> &'static str {
        match self {
            Self::V1 => "model-bench-v1",
            Self::V2 => "model-bench-v2",
            Self::V3 => "model-bench-v3",
        }
    }
}

impl fmt::Display for ModelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
