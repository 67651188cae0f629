//! The news of the stories.

pub(crate) mod given;
pub(crate) mod requests;
