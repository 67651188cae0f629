//! The errors of the blog: their texts for callers, and their meaning to a repair.

use tributary_functions::{
    audit::Obstacle,
    cosmos::{Retryable, StoreError},
    http::ApiError,
};

/// A refusal of the blog.
#[derive(Debug, thiserror::Error)]
pub(super) enum BlogError {
    #[error("there is no such user")]
    NoUser,
    #[error("there is no such post")]
    NoPost,
    /// Another user has the name, or has reserved it.
    #[error("the name is taken")]
    NameTaken,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Retryable for BlogError {
    fn is_retryable(&self) -> bool {
        self.store_error().is_some_and(|error| error.is_race() || error.is_unanswered())
    }

    fn may_be_stale(&self) -> bool {
        matches!(self, Self::NoUser | Self::NoPost | Self::NameTaken)
    }

    fn store_error(&self) -> Option<&StoreError> {
        if let Self::Store(error) = self { Some(error) } else { None }
    }
}

impl From<BlogError> for ApiError {
    fn from(error: BlogError) -> Self {
        match error {
            BlogError::NoUser => Self::NotFound("user"),
            BlogError::NoPost => Self::NotFound("post"),
            BlogError::NameTaken => {
                Self::Conflict("Another user has this username. Choose another one.")
            }
            BlogError::Store(error) => error.into(),
        }
    }
}

impl From<BlogError> for Obstacle {
    fn from(error: BlogError) -> Self {
        match error {
            BlogError::Store(error) => error.into(),
            // Another user has the name, or another command has just reserved it.
            _ => Self::Race,
        }
    }
}
