//! `tributary-partition advise`, through the front door: the binary on small files in a folder.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails the test")]

mod beyond_a_key;
mod characteristics;
mod page;
mod posts;
mod ranking;
mod refusals;
mod support;
mod traffic;
