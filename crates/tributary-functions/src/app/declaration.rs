//! The functions as the Functions host reads them: `function.json` of each, from the tables of the app.

use axum::http::Method;
use serde::Serialize;

use crate::{
    domain::{FeedOptions, LeaseIntervals},
    http::{AuthLevel, HttpFunction},
    projection::leases::{LEASE_CONTAINER, lease_container_prefix},
};

/// A function of the app, with what starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declaration {
    /// The folder in `functions/`.
    pub name: &'static str,
    /// The trigger of the function.
    pub trigger: Trigger,
}

/// The trigger of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    /// A request.
    Http {
        /// The methods.
        methods: Vec<Method>,
        /// The route, with a slash in front.
        route: &'static str,
        /// The callers that the function admits.
        auth_level: AuthLevel,
    },
    /// Changes in a container.
    ChangeFeed {
        /// The container.
        container: &'static str,
        /// The settings of the trigger.
        options: FeedOptions,
    },
    /// The clock.
    Timer {
        /// The schedule, as an NCRONTAB expression.
        schedule: &'static str,
    },
}

/// The file of a function. The order of the fields is that of the text.
#[derive(Serialize)]
struct FunctionJson {
    bindings: Vec<Binding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Retry>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Binding {
    HttpTrigger {
        direction: &'static str,
        name: &'static str,
        methods: Vec<String>,
        route: &'static str,
        auth_level: AuthLevel,
    },
    Http {
        direction: &'static str,
        name: &'static str,
    },
    #[serde(rename = "cosmosDBTrigger")]
    ChangeFeed {
        direction: &'static str,
        name: &'static str,
        connection: &'static str,
        database_name: &'static str,
        container_name: &'static str,
        lease_container_name: &'static str,
        lease_container_prefix: String,
        create_lease_container_if_not_exists: bool,
        start_from_beginning: bool,
        max_items_per_invocation: u32,
        feed_poll_delay: u32,
        #[serde(flatten)]
        leases: Option<Leases>,
    },
    TimerTrigger {
        direction: &'static str,
        name: &'static str,
        schedule: &'static str,
        run_on_startup: bool,
        use_monitor: bool,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Retry {
    strategy: &'static str,
    max_retry_count: i32,
    minimum_interval: &'static str,
    maximum_interval: &'static str,
}

#[derive(Serialize)]
struct Leases {
    #[serde(rename = "leaseExpirationInterval")]
    expiration: u32,
    #[serde(rename = "leaseRenewInterval")]
    renew: u32,
    #[serde(rename = "leaseAcquireInterval")]
    acquire: u32,
}

impl From<LeaseIntervals> for Leases {
    fn from(intervals: LeaseIntervals) -> Self {
        Self {
            expiration: intervals.expiration_ms,
            renew: intervals.renew_ms,
            acquire: intervals.acquire_ms,
        }
    }
}

impl From<&HttpFunction> for Declaration {
    fn from(function: &HttpFunction) -> Self {
        let HttpFunction { name, method, route, auth_level, .. } = function;
        let methods = vec![method.clone()];
        Self { name, trigger: Trigger::Http { methods, route, auth_level: *auth_level } }
    }
}

impl Declaration {
    /// Returns the text of `function.json`.
    pub fn function_json(&self) -> serde_json::Result<String> {
        let json = match &self.trigger {
            Trigger::Http { methods, route, auth_level } => http(methods, route, *auth_level),
            Trigger::ChangeFeed { container, options } => {
                change_feed(self.name, container, *options)
            }
            Trigger::Timer { schedule } => timer(schedule),
        };
        Ok(serde_json::to_string_pretty(&json)? + "\n")
    }
}

fn http(methods: &[Method], route: &'static str, auth_level: AuthLevel) -> FunctionJson {
    let trigger = Binding::HttpTrigger {
        direction: "in",
        name: "req",
        methods: methods.iter().map(|method| method.as_str().to_lowercase()).collect(),
        route: route.trim_start_matches('/'),
        auth_level,
    };
    let answer = Binding::Http { direction: "out", name: "res" };
    FunctionJson { bindings: vec![trigger, answer], retry: None }
}

/// A trigger of the change feed begins with the oldest change, since a copy is made of each item, and
/// has leases of its own. It retries without end: otherwise the host would drop a batch that failed.
fn change_feed(function: &str, container: &'static str, options: FeedOptions) -> FunctionJson {
    let FeedOptions { poll_delay_ms, max_batch_items, leases } = options;
    let trigger = Binding::ChangeFeed {
        direction: "in",
        name: "documents",
        connection: "CosmosConnection",
        database_name: "%CosmosDatabase%",
        container_name: container,
        lease_container_name: LEASE_CONTAINER,
        lease_container_prefix: lease_container_prefix(function),
        create_lease_container_if_not_exists: false,
        start_from_beginning: true,
        max_items_per_invocation: max_batch_items,
        feed_poll_delay: poll_delay_ms,
        leases: leases.map(Leases::from),
    };
    let retry = Retry {
        strategy: "exponentialBackoff",
        max_retry_count: -1,
        minimum_interval: "00:00:02",
        maximum_interval: "00:01:00",
    };
    FunctionJson { bindings: vec![trigger], retry: Some(retry) }
}

fn timer(schedule: &'static str) -> FunctionJson {
    let trigger = Binding::TimerTrigger {
        direction: "in",
        name: "timer",
        schedule,
        run_on_startup: false,
        use_monitor: true,
    };
    FunctionJson { bindings: vec![trigger], retry: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_chooses_its_delay_and_its_leases() {
        let leases = LeaseIntervals { expiration_ms: 20_000, renew_ms: 6_000, acquire_ms: 5_000 };
        let options =
            FeedOptions { poll_delay_ms: 5_000, leases: Some(leases), ..FeedOptions::default() };
        let trigger = Trigger::ChangeFeed { container: "rooms", options };
        let text = Declaration { name: "RoomsOfUsers", trigger }.function_json().unwrap();
        let end = r#"
      "leaseContainerPrefix": "rooms-of-users-",
      "createLeaseContainerIfNotExists": false,
      "startFromBeginning": true,
      "maxItemsPerInvocation": 100,
      "feedPollDelay": 5000,
      "leaseExpirationInterval": 20000,
      "leaseRenewInterval": 6000,
      "leaseAcquireInterval": 5000
    }
  ],
  "retry": {
    "strategy": "exponentialBackoff",
    "maxRetryCount": -1,
    "minimumInterval": "00:00:02",
    "maximumInterval": "00:01:00"
  }
}
"#;
        assert!(text.ends_with(end), "{text}");
    }
}
