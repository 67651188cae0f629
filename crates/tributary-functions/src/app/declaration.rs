//! The functions as the Functions host reads them: `function.json` of each, from the tables of the app.

use axum::http::Method;
use serde_json::Value;

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

/// An endless retry: otherwise the host would drop a batch that failed.
const RETRY: &str = r#",
  "retry": {
    "strategy": "exponentialBackoff",
    "maxRetryCount": -1,
    "minimumInterval": "00:00:02",
    "maximumInterval": "00:01:00"
  }"#;

impl From<&HttpFunction> for Declaration {
    fn from(function: &HttpFunction) -> Self {
        let mut methods = vec![function.method.clone()];
        if function.method == Method::GET {
            // A GET without the body of its answer (RFC 9110, section 9.3.2). The host asks for each method.
            methods.push(Method::HEAD);
        }
        let route = function.route;
        let auth_level = function.auth_level;
        Self { name: function.name, trigger: Trigger::Http { methods, route, auth_level } }
    }
}

impl Declaration {
    /// Returns the text of `function.json`.
    pub fn function_json(&self) -> serde_json::Result<String> {
        let (bindings, retry) = match &self.trigger {
            Trigger::Http { methods, route, auth_level } => {
                let methods = methods.iter().map(|method| method.as_str().to_lowercase());
                let request = [
                    ("methods", methods.collect()),
                    ("route", route.trim_start_matches('/').into()),
                    ("authLevel", serde_json::to_value(auth_level)?),
                ];
                let request = binding("httpTrigger", "in", "req", &request);
                (format!("{request},\n{}", binding("http", "out", "res", &[])), "")
            }
            Trigger::ChangeFeed { container, options } => {
                (change_feed(self.name, container, *options), RETRY)
            }
            Trigger::Timer { schedule } => {
                let timer = [
                    ("schedule", (*schedule).into()),
                    ("runOnStartup", false.into()),
                    ("useMonitor", true.into()),
                ];
                (binding("timerTrigger", "in", "timer", &timer), "")
            }
        };
        Ok(format!("{{\n  \"bindings\": [\n{bindings}\n  ]{retry}\n}}\n"))
    }
}

/// It begins with the oldest change, since a copy is made of each item, and has leases of its own.
fn change_feed(function: &str, container: &str, options: FeedOptions) -> String {
    let FeedOptions { poll_delay_ms, max_batch_items, leases } = options;
    let mut properties = vec![
        ("connection", "CosmosConnection".into()),
        ("databaseName", "%CosmosDatabase%".into()),
        ("containerName", container.into()),
        ("leaseContainerName", LEASE_CONTAINER.into()),
        ("leaseContainerPrefix", lease_container_prefix(function).into()),
        ("createLeaseContainerIfNotExists", false.into()),
        ("startFromBeginning", true.into()),
        ("maxItemsPerInvocation", max_batch_items.into()),
        ("feedPollDelay", poll_delay_ms.into()),
    ];
    if let Some(LeaseIntervals { expiration_ms, renew_ms, acquire_ms }) = leases {
        properties.extend([
            ("leaseExpirationInterval", expiration_ms.into()),
            ("leaseRenewInterval", renew_ms.into()),
            ("leaseAcquireInterval", acquire_ms.into()),
        ]);
    }
    binding("cosmosDBTrigger", "in", "documents", &properties)
}

fn binding(kind: &str, direction: &str, name: &str, properties: &[(&str, Value)]) -> String {
    let common = [("type", kind.into()), ("direction", direction.into()), ("name", name.into())];
    let lines = common.iter().chain(properties).map(|(name, value)| {
        let value = format!("{value:#}").replace('\n', "\n      ");
        format!("      \"{name}\": {value}")
    });
    format!("    {{\n{}\n    }}", lines.collect::<Vec<_>>().join(",\n"))
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
      "feedPollDelay": 5000,
      "leaseExpirationInterval": 20000,
      "leaseRenewInterval": 6000,
      "leaseAcquireInterval": 5000
    }"#;
        assert!(text.contains(end), "{text}");
    }
}
