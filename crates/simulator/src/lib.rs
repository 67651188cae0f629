//! A simulator of the blog's clients, with a reference model of what they may see.
//!
//! Several clients send random commands at once and try again, as an honest client does, when the
//! answer is 429 or 503 or does not come. The [`Model`] holds what was acknowledged. Each client
//! has users and posts of its own, so it knows exactly what they are; but all of them comment on
//! and like the posts of all, so counts, edits and deletes of one post meet each other. Where a
//! reaction meets the deletion of its post either may have been first, and the model allows both.
//! A query may be answered by an instance that reads from a replica that is behind: the model
//! allows each version that was the newest one within that time. Commands have no such excuse, and
//! neither has a 404, which is confirmed by the newest state.
//!
//! After quiet, [`check`] asks every query and compares.
//!
//! To add an operation: 1. a variant of [`Operation`] with its request; 2. its chance in
//! [`Operation::random`]; 3. in [`Model::finish`] which answers are right and what they mean;
//! 4. what is left to compare in [`check`].

mod api;
mod check;
mod client;
mod model;
mod operation;
mod recent;
mod reservation;

pub use api::{Api, Call, Reply};
pub use check::check;
pub use client::{Simulation, Tally, simulate};
pub use model::Model;
pub use operation::{Operation, World};
pub use reservation::Reservation;
