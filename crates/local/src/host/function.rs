//! A function and its trigger.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::Method;
use serde_json::Value;
use time::OffsetDateTime;

use super::json::{ConfigError, Node, parse_time_span};
use super::ncrontab::Schedule;
use super::routes::Template;
use super::settings::Settings;

/// One function: its trigger and its retry policy.
#[derive(Debug, Clone)]
pub struct Function {
    /// The folder's name.
    pub name: String,
    /// Name of the trigger's binding, under which the data arrive.
    pub(crate) binding: String,
    /// Its trigger.
    pub trigger: FunctionTrigger,
    /// Policy after a failure; with `None` a failed batch is lost.
    pub(crate) retry: Option<RetryPolicy>,
}

/// The trigger of a function.
#[derive(Debug, Clone)]
pub enum FunctionTrigger {
    /// A request.
    Http(HttpTrigger),
    /// Changes of a container.
    Cosmos(CosmosTrigger),
    /// A schedule.
    Timer(TimerTrigger),
}

/// An `httpTrigger`.
#[derive(Debug, Clone)]
pub struct HttpTrigger {
    /// The route with the app's prefix, such as `api/posts/{postId}`.
    pub(crate) route: String,
    pub(crate) template: Template,
    /// Empty for all.
    pub(crate) methods: Vec<Method>,
    pub(crate) auth_level: AuthLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AuthLevel {
    Anonymous,
    Function,
    /// The master key.
    Admin,
}

/// A `cosmosDBTrigger` of the extension's version 4.
#[derive(Debug, Clone)]
pub struct CosmosTrigger {
    /// Name of the setting with the account.
    pub(crate) connection: String,
    /// The database of the monitored container.
    pub database: String,
    /// The monitored container.
    pub container: String,
    /// The database of the leases.
    pub lease_database: String,
    /// The container of the leases.
    pub lease_container: String,
    pub(crate) lease_prefix: String,
    pub(crate) create_lease_container: bool,
    pub(crate) max_items_per_invocation: u32,
    pub(crate) feed_poll_delay: Duration,
    /// The pause between an owner's writes of a lease without a checkpoint.
    pub(crate) lease_renew_interval: Duration,
    /// True if it starts, without leases, with the first change that exists, and false for the next one.
    pub from_beginning: bool,
    pub(crate) parses_dates: bool,
    /// The last batch, as an example of one.
    pub(crate) last_batch: LastValue<Arc<[Value]>>,
}

/// A value of this host that all clones share. It is kept in memory, not in storage as the real host does.
pub(crate) type LastValue<T> = Arc<Mutex<Option<T>>>;

/// A `timerTrigger`.
#[derive(Debug, Clone)]
pub struct TimerTrigger {
    pub(crate) schedule: Schedule,
    /// Also runs it when the host starts.
    pub(crate) run_on_startup: bool,
    /// Keeps the times of the last and next run; true by default.
    pub(crate) use_monitor: bool,
    pub(crate) last_run: LastValue<OffsetDateTime>,
}

impl TimerTrigger {
    /// Returns true if the host keeps a status, which it does not for a schedule shorter than a minute.
    pub(super) fn has_status(&self) -> bool {
        let first = self.schedule.next(OffsetDateTime::now_utc());
        let second = first.and_then(|first| self.schedule.next(first));
        let is_short = first.zip(second).is_some_and(|(a, b)| b - a < time::Duration::MINUTE);
        self.use_monitor && !is_short
    }
}

/// The `retry` of `function.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RetryPolicy {
    /// The number of retries of a failed invocation; -1 for ever.
    pub(crate) max_retry_count: i64,
    pub(crate) minimum: Duration,
    /// The longest pause; the same as the first for a fixed delay.
    pub(crate) maximum: Duration,
}

impl RetryPolicy {
    /// Returns the pause before retry `count` (from 0), or `None` after the last retry.
    pub(super) fn delay(&self, count: i64) -> Option<Duration> {
        if self.max_retry_count >= 0 && count >= self.max_retry_count {
            return None;
        }
        let doublings = u32::try_from(count).unwrap_or(u32::MAX).min(30);
        Some(self.minimum.saturating_mul(1 << doublings).min(self.maximum))
    }
}

/// Names of the trigger's fields in the extension's version 4, which ignores all others in silence.
const COSMOS_FIELDS: &str = "type direction name dataType connection databaseName containerName \
    leaseConnection leaseDatabaseName leaseContainerName createLeaseContainerIfNotExists \
    leaseContainerPrefix leasesContainerThroughput feedPollDelay leaseAcquireInterval \
    leaseExpirationInterval leaseRenewInterval maxItemsPerInvocation startFromBeginning \
    startFromTime preferredLocations changeFeedMode";

impl Function {
    /// Reads the root object of a `function.json`, and adds faults that the real host ignores in
    /// silence to `warnings`.
    pub(super) fn read(
        name: &str,
        root: &Node<'_>,
        settings: &Settings,
        warnings: &mut Vec<String>,
    ) -> Result<Self, ConfigError> {
        let bindings = root.objects("bindings")?;
        let mut triggers = Vec::new();
        for binding in &bindings {
            let kind = binding.required("type", "it says what the binding is")?;
            if kind.to_ascii_lowercase().ends_with("trigger") {
                triggers.push((kind, binding));
            }
        }
        let [(kind, trigger)] = triggers.as_slice() else {
            let fault = format!("must hold exactly one trigger, and there are {}", triggers.len());
            return Err(root.error("bindings", &fault));
        };
        if trigger.string("direction")?.is_some_and(|direction| direction != "in") {
            return Err(trigger.error("direction", "of a trigger must be \"in\""));
        }
        let binding = trigger.required("name", "the data of an invocation come under it")?;
        let retry = root.object("retry")?;
        let retry = retry.exists().then(|| read_retry(&retry)).transpose()?;
        let trigger = match kind.to_ascii_lowercase().as_str() {
            "httptrigger" => FunctionTrigger::Http(read_http(name, trigger, &bindings)?),
            "cosmosdbtrigger" => {
                if retry.is_none() {
                    let fault =
                        "is missing: a batch that fails is logged, checkpointed and so lost";
                    warnings.push(root.sentence("retry", fault));
                }
                let fields = trigger.resolved(settings)?;
                FunctionTrigger::Cosmos(read_cosmos(&trigger.with(&fields), warnings)?)
            }
            "timertrigger" => {
                let fields = trigger.resolved(settings)?;
                FunctionTrigger::Timer(read_timer(&trigger.with(&fields))?)
            }
            _ => {
                let known = "httpTrigger, cosmosDBTrigger and timerTrigger";
                let fault =
                    format!("is {kind:?}, which this stand-in does not have: it runs {known}");
                return Err(trigger.error("type", &fault));
            }
        };
        Ok(Self { name: name.to_owned(), binding: binding.to_owned(), trigger, retry })
    }

    /// Describes the trigger: the methods and the address of a route below `url`, or the source of the data.
    pub(crate) fn address(&self, url: &str) -> String {
        match &self.trigger {
            FunctionTrigger::Http(http) => {
                let methods: Vec<_> = http.methods.iter().map(Method::as_str).collect();
                let methods = methods.join(",");
                let methods = if methods.is_empty() { methods } else { format!("[{methods}] ") };
                format!("{methods}{url}/{}", http.route)
            }
            FunctionTrigger::Cosmos(trigger) => {
                format!("cosmosDBTrigger on {}/{}", trigger.database, trigger.container)
            }
            FunctionTrigger::Timer(timer) => format!("timerTrigger at {}", timer.schedule.as_str()),
        }
    }

    pub(crate) fn http(&self) -> Option<&HttpTrigger> {
        match &self.trigger {
            FunctionTrigger::Http(http) => Some(http),
            _ => None,
        }
    }

    pub(crate) fn cosmos(&self) -> Option<&CosmosTrigger> {
        match &self.trigger {
            FunctionTrigger::Cosmos(trigger) => Some(trigger),
            _ => None,
        }
    }
}

impl HttpTrigger {
    pub(crate) fn takes(&self, method: &Method) -> bool {
        self.methods.is_empty() || self.methods.contains(method)
    }
}

fn read_http(
    name: &str,
    trigger: &Node<'_>,
    bindings: &[Node<'_>],
) -> Result<HttpTrigger, ConfigError> {
    let is_output =
        |binding: &Node<'_>| binding.string("type").is_ok_and(|kind| kind == Some("http"));
    if bindings.len() != 2 || !bindings.iter().any(is_output) {
        return Err(trigger.error(
            "type",
            "is httpTrigger, which the host hands through only beside exactly one other binding, \
             an `http` out",
        ));
    }
    let route = trigger.string("route")?.filter(|route| !route.is_empty()).unwrap_or(name);
    let template = Template::parse(route).map_err(|fault| trigger.error("route", &fault))?;
    let mut methods = Vec::new();
    for text in trigger.strings("methods")? {
        let method = Method::from_bytes(text.to_ascii_uppercase().as_bytes())
            .map_err(|_| trigger.error("methods", &format!("holds {text:?}, not a method")))?;
        methods.push(method);
    }
    let auth_level = match trigger.string("authLevel")?.unwrap_or("function") {
        level if level.eq_ignore_ascii_case("anonymous") => AuthLevel::Anonymous,
        level if level.eq_ignore_ascii_case("function") => AuthLevel::Function,
        level if level.eq_ignore_ascii_case("admin") => AuthLevel::Admin,
        other => {
            let fault = format!("is {other:?}: it must be anonymous, function or admin");
            return Err(trigger.error("authLevel", &fault));
        }
    };
    Ok(HttpTrigger { route: route.to_owned(), template, methods, auth_level })
}

fn read_cosmos(
    trigger: &Node<'_>,
    warnings: &mut Vec<String>,
) -> Result<CosmosTrigger, ConfigError> {
    for (field, _) in trigger.entries() {
        if !COSMOS_FIELDS.split(' ').any(|known| known == field) {
            warnings.push(trigger.sentence(field, "is unknown: the host ignores it in silence"));
        }
    }
    let required = |field: &str, reason: &str| trigger.required(field, reason).map(str::to_owned);
    let optional = |field: &str, default: &str| {
        trigger.string(field).map(|text| text.unwrap_or(default).to_owned())
    };
    let millis = |field: &str, default: u32| {
        positive(trigger, field, default).map(|number| Duration::from_millis(number.into()))
    };
    let connection = required("connection", "it is the setting that names the account")?;
    let database = required("databaseName", "it is the database to read the changes of")?;
    if trigger.string("leaseConnection")?.is_some_and(|name| name != connection) {
        return Err(trigger.error("leaseConnection", "must be that of the items in this stand-in"));
    }
    if trigger.string("startFromTime")?.is_some() {
        return Err(trigger.error("startFromTime", "has no effect in this stand-in: leave it out"));
    }
    if trigger.string("changeFeedMode")?.is_some_and(|mode| mode != "LatestVersion") {
        return Err(trigger.error("changeFeedMode", "must be LatestVersion in this stand-in"));
    }
    Ok(CosmosTrigger {
        container: required("containerName", "it is the container to read the changes of")?,
        lease_database: optional("leaseDatabaseName", &database)?,
        lease_container: optional("leaseContainerName", "leases")?,
        lease_prefix: required(
            "leaseContainerPrefix",
            "two functions with one prefix steal each other's changes",
        )?,
        create_lease_container: trigger.is_true("createLeaseContainerIfNotExists")?,
        max_items_per_invocation: positive(trigger, "maxItemsPerInvocation", 100)?,
        feed_poll_delay: millis("feedPollDelay", 5000)?,
        lease_renew_interval: millis("leaseRenewInterval", 17_000)?,
        from_beginning: trigger.is_true("startFromBeginning")?,
        parses_dates: true,
        last_batch: LastValue::default(),
        connection,
        database,
    })
}

fn read_timer(trigger: &Node<'_>) -> Result<TimerTrigger, ConfigError> {
    let text = trigger.required("schedule", "it says when the function runs")?;
    let schedule = Schedule::parse(text).map_err(|fault| trigger.error("schedule", &fault))?;
    Ok(TimerTrigger {
        schedule,
        run_on_startup: trigger.is_true("runOnStartup")?,
        use_monitor: trigger.boolean("useMonitor")?.unwrap_or(true),
        last_run: LastValue::default(),
    })
}

fn read_retry(node: &Node<'_>) -> Result<RetryPolicy, ConfigError> {
    let max_retry_count = node
        .integer("maxRetryCount")?
        .ok_or_else(|| node.error("maxRetryCount", "is missing: -1 tries for ever"))?;
    let span = |field: &str| {
        let text = node.required(field, "it is the pause between two attempts, as hh:mm:ss")?;
        parse_time_span(text).ok_or_else(|| node.error(field, "must be a time span hh:mm:ss"))
    };
    let (minimum, maximum) = match node.required("strategy", "it says how long to wait")? {
        "exponentialBackoff" => (span("minimumInterval")?, span("maximumInterval")?),
        "fixedDelay" => (span("delayInterval")?, span("delayInterval")?),
        _ => return Err(node.error("strategy", "must be exponentialBackoff or fixedDelay")),
    };
    if minimum > maximum {
        return Err(node.error("minimumInterval", "must not be longer than maximumInterval"));
    }
    Ok(RetryPolicy { max_retry_count: max_retry_count.max(-1), minimum, maximum })
}

fn positive(node: &Node<'_>, field: &str, default: u32) -> Result<u32, ConfigError> {
    let number = u32::try_from(node.integer(field)?.unwrap_or(default.into())).ok();
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| node.error(field, "must be a positive integer"))
}
