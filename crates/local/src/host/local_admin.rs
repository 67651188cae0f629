//! `/admin/local`: what `cargo local invoke` and `cargo local tail` ask a running host. The Functions host
//! has nothing like it.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::admin::ManualRun;
use super::app::FunctionApp;
use super::console::{Console, Ended};
use super::function::{Function, FunctionTrigger};
use super::invoke::Invoker;
use super::wire::Attempt;

/// A function of a running host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HostedFunction {
    /// Its name.
    pub name: String,
    /// Its trigger.
    pub trigger: HostedTrigger,
}

/// The trigger of a function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum HostedTrigger {
    /// A request.
    #[serde(rename_all = "camelCase")]
    Http {
        /// Its methods; empty for all.
        methods: Vec<String>,
        /// The whole route, such as `/api/posts/{postId}`.
        route: String,
    },
    /// Changes of a container.
    #[serde(rename_all = "camelCase")]
    CosmosDb {
        /// The container.
        container: String,
        /// The last batch of the change feed; `None` before the first one, and after one that is large.
        last_batch: Option<Vec<Value>>,
    },
    /// A schedule.
    Timer {
        /// The schedule.
        schedule: String,
    },
}

/// The result of a run by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManualResult {
    /// The invocation id.
    pub id: String,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// The handler's description of its work.
    pub done: Option<String>,
    /// The charge in request units.
    pub charge: Option<String>,
    /// The log lines that came with the answer.
    pub logs: Vec<String>,
    /// The reason of a failure; `None` if the invocation succeeded.
    pub failure: Option<String>,
}

impl HostedFunction {
    /// Describes the functions of an app.
    pub(super) fn all(app: &FunctionApp) -> Vec<Self> {
        app.functions().iter().map(|function| Self::new(function, app)).collect()
    }

    fn new(function: &Function, app: &FunctionApp) -> Self {
        let trigger = match &function.trigger {
            FunctionTrigger::Http(http) => HostedTrigger::Http {
                methods: http.methods.iter().map(ToString::to_string).collect(),
                route: format!("/{}", app.host().full_route(&http.route)),
            },
            FunctionTrigger::Cosmos(trigger) => HostedTrigger::CosmosDb {
                container: trigger.container.clone(),
                last_batch: trigger.last_batch.get().map(|batch| batch.to_vec()),
            },
            FunctionTrigger::Timer(timer) => {
                HostedTrigger::Timer { schedule: timer.schedule.as_str().to_owned() }
            }
        };
        Self { name: function.name.clone(), trigger }
    }
}

/// Runs a function once, and waits for its end.
pub(super) async fn run(run: ManualRun, invoker: &dyn Invoker, console: &Console) -> ManualResult {
    let id = uuid::Uuid::new_v4().to_string();
    let attempt = Attempt { invocation_id: id.clone(), ..Attempt::default() };
    let started = Instant::now();
    let function = &run.function.name;
    let result = invoker.invoke(function, &id, run.body(&attempt).into()).await;
    let duration = started.elapsed();
    let ended = Ended::new(function, &id, duration);
    let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    match result {
        Ok(answer) => {
            let ended = ended.charged(answer.charge.as_deref());
            console.succeeded(ended, "by hand", answer.done.as_deref());
            let (done, charge, logs) = (answer.done, answer.charge, answer.logs);
            ManualResult { id, duration_ms, done, charge, logs, failure: None }
        }
        Err(failure) => {
            console.failed(ended, &format!("by hand: {failure}"));
            let failure = Some(failure.to_string());
            ManualResult { id, duration_ms, done: None, charge: None, logs: Vec::new(), failure }
        }
    }
}
