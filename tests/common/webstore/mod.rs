//! The WebStore of the stories.

pub(crate) mod given;
pub(crate) mod requests;
pub(crate) mod shop;
