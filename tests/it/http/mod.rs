//! The common part of all routes: bodies, problem documents, conditions, lists. The stories of the
//! framework alone are in `crates/testing/tests/it/http`.

mod admission;
mod budgets;
mod caching;
mod lists;
mod refusals;
mod repeats;
mod stale_replicas;
