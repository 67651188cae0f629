//! The common part of all routes: bodies, problem documents, conditions, lists. The stories of the
//! framework alone are in `crates/testing/tests/it/http`.

mod admission;
mod behind_the_host;
mod budgets;
mod caching;
mod faults;
mod lists;
mod random_requests;
mod refusals;
mod repeats;
mod stale_replicas;
