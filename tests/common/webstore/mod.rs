//! The WebStore of the stories.

pub(crate) mod given;
pub(crate) mod shop;
