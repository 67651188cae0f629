//! Checks of the promises that the framework makes for every function of an app. A check takes the app's
//! functions, commands or lists, and panics where a handler breaks a promise.
//!
//! | check | promise |
//! | --- | --- |
//! | [`bad_requests_are_refused`] | every function refuses a bad body, path or query without a store request, and takes each number, list and text within its bounds in the OpenAPI document |
//! | [`access_by_caller`] | each function is for the callers in its line of the table, and so say its answers to caches |
//! | [`secrets_stay_inside`], [`no_output_has_a_secret`] | no answer, copy, dead letter, log line, trace or metric has a secret |
//! | [`indexes`] | an index serves each query that the app sends, and each index serves a query |
//! | [`openapi`] | the OpenAPI document says what each function takes and answers |
//! | [`conditions`] | each function is read, put and deleted under the conditions of its callers |
//! | [`answered_as_the_first_time`] | a request that the host repeats is carried out once |
//! | [`budget_spent_anywhere`] | a command that reaches its budget is a 503 and can be repeated |
//! | [`stale_replicas_refuse_nothing`] | an instance whose replica is behind refuses no request for an old state |
//! | [`OwnWrites`] | a caller with a consistency token sees its own writes in each list, at any instance |
//! | [`lists`] | a list shows each item once, leaves unreadable ones out, and refuses forged cursors |
//! | [`shapes`] | a stored shape changes with a sample, and today's code reads the samples of all releases |

mod access;
pub mod conditions;
mod examples;
pub mod indexes;
pub mod lists;
pub mod openapi;
pub mod shapes;

mod bounds;
mod budgets;
mod own_writes;
mod refusals;
mod repeats;
mod secrets;

use std::path::Path;

use tributary_local::cosmos::ContainersFile;

use crate::AppUnderTest;

pub use self::{
    access::access_by_caller,
    budgets::{RepeatableCommand, budget_spent_anywhere},
    examples::send_examples,
    own_writes::OwnWrites,
    refusals::bad_requests_are_refused,
    repeats::{answered_as_the_first_time, stale_replicas_refuse_nothing},
    secrets::{no_output_has_a_secret, secrets_stay_inside},
};

fn containers<A: AppUnderTest>() -> Vec<String> {
    let file = Path::new(A::ROOT).join("infra/containers.json");
    let containers = ContainersFile::read(file).unwrap();
    containers.containers().iter().map(|container| container.id.to_string()).collect()
}
