//! What all routes share: bodies, problem documents, conditions, lists.

mod admission;
mod behind_the_host;

mod bodies;
mod budgets;
mod caching;
mod every_list;
mod faults;
mod forged_cursors;
mod lists;
mod problems;
mod query_strings;
mod random_requests;
mod repeats;
mod stale_replicas;
mod unreadable_items;

pub(crate) mod expect;
