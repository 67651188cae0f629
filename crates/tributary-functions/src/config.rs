//! The settings that belong to no domain, read once at the start. The triggers of the Functions host
//! use the same names. A domain reads its own from [`Settings`].

mod cosmos;
mod settings;

use std::{
    num::{NonZeroU32, NonZeroUsize},
    thread,
    time::Duration,
};

use azure_core::http::Url;
use custom_handler::logs::Format;

pub use self::settings::{ConfigError, Settings};

use crate::{
    audit,
    brand::brand,
    cosmos::CosmosOptions,
    http::{AdmissionOptions, Authentication, ConsistencyOptions},
    projection::{
        BackgroundOptions, EAGER_TIME, EagerOptions, FailureLimit, ProjectionOptions,
        control::STATE_MAX_AGE,
    },
    telemetry::{PartitionNames, TelemetryOptions},
    values::{Clock, Timestamp},
};

/// The longest time of an eager application that a setting may allow: a caller waits for it.
const MAX_EAGER_MILLISECONDS: u64 = 2_000;

/// All settings of the handler but those of its domains.
#[derive(Debug)]
pub struct Config {
    /// The account: `CosmosConnection…`; and its database, `CosmosDatabase` or the app's name.
    pub cosmos: CosmosOptions,
    /// The settings of the app.
    pub options: AppOptions,
    /// The settings of logs and telemetry: `Log__…`, `Costs__Recent` and `OTEL_…`.
    pub(crate) telemetry: TelemetryOptions,
}

/// Settings of the app that belong to no domain.
#[derive(Debug, Clone, Copy, Default)]
pub struct AppOptions {
    /// The limits of concurrent requests and of their memory: `Admission__Requests` and `Admission__MemoryMiB`.
    pub admission: AdmissionOptions,
    /// The settings of the callers' sessions: `Consistency__TokenMinutes`.
    pub consistency: ConsistencyOptions,
    /// The source of the caller's identity: `Authentication__Mode`, `none` or `easyauth`.
    pub authentication: Authentication,
    /// The budget and the slices of background work: `Background__RequestUnitsPerSecond`, or 0 for no limit.
    pub background: BackgroundOptions,
    /// The settings of the audits that timers start: `Audit__Repair`, `true` to repair the findings.
    pub audit: audit::AuditOptions,
    /// The clock of domains; for simulations, it runs `Clock__Rate` times as fast since `Clock__Since`.
    pub clock: Clock,
    /// The settings of the projections: `Projections__StateSeconds`, `Projections__PauseAfterFailures` (within
    /// `Projections__FailureMinutes`), `Projections__EagerMilliseconds`, or 0 for none.
    pub projections: ProjectionOptions,
}

/// `TOKIO_WORKER_THREADS`, or one less than the cores: the remaining core is for the Functions host
/// (`docs/performance.md`). Tokio would read the setting, too, and panic on a bad value.
pub(crate) fn worker_threads() -> Result<usize, ConfigError> {
    threads(Settings::ENVIRONMENT, thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

fn threads(settings: Settings<'_>, cores: usize) -> Result<usize, ConfigError> {
    let threads = settings.number("TOKIO_WORKER_THREADS", 1..=1_024)?;
    Ok(threads.unwrap_or(cores.max(2) - 1))
}

impl Config {
    /// Reads the settings that belong to no domain.
    pub fn read(settings: Settings<'_>) -> Result<Self, ConfigError> {
        let cosmos = CosmosOptions {
            account: cosmos::account(settings)?,
            database: settings.text("CosmosDatabase").unwrap_or_else(|| brand().name.into()),
        };
        let repair = settings.switch("Audit__Repair")?;
        let options = AppOptions {
            admission: settings::admission(settings)?,
            consistency: settings::consistency(settings)?,
            authentication: authentication(settings)?,
            background: background(settings)?,
            audit: audit::AuditOptions { repair, ..Default::default() },
            clock: clock(settings)?,
            projections: projections(settings)?,
        };
        let usual = if settings.is_development() { Format::Text } else { Format::Json };
        let formats = [("json", Format::Json), ("text", Format::Text)];
        let names = [
            ("hashed", PartitionNames::Hashed),
            ("plain", PartitionNames::Plain),
            ("off", PartitionNames::Off),
        ];
        let recent = settings.given_switch("Costs__Recent")?;
        let telemetry = TelemetryOptions {
            format: settings.choice("Log__Format", formats)?.unwrap_or(usual),
            export: export(settings).map_err(|error| error.to_string()),
            partitions: settings.choice("Log__PartitionKeys", names)?.unwrap_or_default(),
            recent: recent.unwrap_or(settings.is_development()),
        };
        Ok(Self { cosmos, options, telemetry })
    }
}

fn export(settings: Settings<'_>) -> Result<bool, ConfigError> {
    const PROTOCOL: &str = "http/protobuf";
    let endpoint = settings.text("OTEL_EXPORTER_OTLP_ENDPOINT");
    let Some(endpoint) = endpoint.filter(|_| settings.switch("OTEL_SDK_DISABLED") != Ok(true))
    else {
        return Ok(false);
    };
    if !Url::parse(&endpoint).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
        return Err(error(
            "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL such as http://localhost:4318.",
        ));
    }
    match settings.text("OTEL_EXPORTER_OTLP_PROTOCOL") {
        Some(other) if other != PROTOCOL => Err(error(format!(
            "OTEL_EXPORTER_OTLP_PROTOCOL must be {PROTOCOL}, or not be set: send to the collector's \
             port for HTTP, which is 4318."
        ))),
        _ => Ok(true),
    }
}

fn background(settings: Settings<'_>) -> Result<BackgroundOptions, ConfigError> {
    // The second name is from the time when only renames had a budget.
    for name in ["Background__RequestUnitsPerSecond", "Rename__RequestUnitsPerSecond"] {
        if let Some(rate) = settings.number(name, 0..=u32::MAX)? {
            let request_units_per_second = NonZeroU32::new(rate);
            return Ok(BackgroundOptions { request_units_per_second, ..Default::default() });
        }
    }
    Ok(BackgroundOptions::default())
}

fn projections(settings: Settings<'_>) -> Result<ProjectionOptions, ConfigError> {
    let seconds = settings.number("Projections__StateSeconds", 0..=60)?;
    let state_max_age = seconds.map_or(STATE_MAX_AGE, Duration::from_secs);
    let minutes = settings.number("Projections__FailureMinutes", 1..=1_440)?;
    let within = Duration::from_mins(minutes.unwrap_or(10));
    let changes = settings.number("Projections__PauseAfterFailures", 1..=1_000)?;
    let failure_limit = changes.map(|changes| FailureLimit { changes, within });
    let milliseconds =
        settings.number("Projections__EagerMilliseconds", 0..=MAX_EAGER_MILLISECONDS)?;
    let time = milliseconds.map_or(EAGER_TIME, Duration::from_millis);
    let eager = EagerOptions { time, ..Default::default() };
    Ok(ProjectionOptions { state_max_age, failure_limit, eager, ..Default::default() })
}

/// The mode `easyauth` trusts headers, which only the platform removes from requests, while its authentication is on.
/// So the app refuses to start if the platform says that it is off.
fn authentication(settings: Settings<'_>) -> Result<Authentication, ConfigError> {
    let modes = [("none", Authentication::None), ("easyauth", Authentication::EasyAuth)];
    let mode = settings.choice("Authentication__Mode", modes)?.unwrap_or_default();
    let names = ["WEBSITE_SITE_NAME", "WEBSITE_INSTANCE_ID"];
    let in_azure = names.into_iter().any(|name| settings.text(name).is_some());
    if mode == Authentication::EasyAuth && in_azure && !settings.switch("WEBSITE_AUTH_ENABLED")? {
        return Err(error(
            "Authentication__Mode is easyauth, but App Service Authentication is off. Turn \
             it on for this function app: otherwise any caller could act as any user.",
        ));
    }
    Ok(mode)
}

fn clock(settings: Settings<'_>) -> Result<Clock, ConfigError> {
    let rate = settings.number("Clock__Rate", 1..=1_000_000)?;
    let since = settings.text("Clock__Since").map(|text| Timestamp::parse(text.trim())).transpose();
    let since = since.map_err(|_| error("Clock__Since must be an RFC 3339 timestamp."))?;
    match (rate, since) {
        (None, None) => Ok(Clock::default()),
        (Some(rate), Some(since)) => Ok(Clock::faster(rate, since)),
        _ => Err(error("Clock__Rate and Clock__Since must be set together, or not at all.")),
    }
}

fn error(sentence: impl Into<String>) -> ConfigError {
    ConfigError::new(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: (&str, &str) =
        ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");

    pub(super) fn read(settings: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(Settings::new(&|name| {
            settings.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        }))
    }

    fn with_store(settings: &[(&str, &str)]) -> Result<Config, String> {
        read(&[&[STORE], settings].concat()).map_err(|error| error.to_string())
    }

    const LOCAL: (&str, &str) = ("AZURE_FUNCTIONS_ENVIRONMENT", "Development");
    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    const RATE: (&str, &str) = ("Clock__Rate", "300");
    const SINCE: (&str, &str) = ("Clock__Since", "2026-11-22T20:00:00Z");

    #[test]
    fn callers_are_believed_only_where_the_platform_vouches_for_them() {
        let mode = |settings: &[(&str, &str)]| {
            with_store(settings).map(|config| config.options.authentication)
        };
        let easyauth = ("Authentication__Mode", "EasyAuth");
        let site = ("WEBSITE_SITE_NAME", "tributary");
        let instance = ("WEBSITE_INSTANCE_ID", "1");
        let on = ("WEBSITE_AUTH_ENABLED", "True");
        let off = ("WEBSITE_AUTH_ENABLED", "False");
        assert_eq!(mode(&[site, on]), Ok(Authentication::None));
        for settings in [&[easyauth][..], &[easyauth, site, on], &[easyauth, instance, on]] {
            assert_eq!(mode(settings), Ok(Authentication::EasyAuth), "{settings:?}");
        }
        for settings in [&[easyauth, site][..], &[easyauth, instance, off]] {
            assert!(mode(settings).unwrap_err().contains("Turn it on"), "{settings:?}");
        }
    }

    #[test]
    fn a_bad_setting_is_named_in_one_sentence_without_its_value() {
        for (settings, named) in [
            (&[][..], "CosmosConnection"),
            (&[("CosmosConnection", "secret")], "CosmosConnection must look like"),
            (&[("CosmosConnection", "AccountEndpoint=ftp://x/;AccountKey=secret")], "https://"),
            (
                &[("CosmosConnection__accountEndpoint", "secret")],
                "CosmosConnection__accountEndpoint",
            ),
            (
                &[
                    ("CosmosConnection__accountEndpoint", "https://a/"),
                    ("CosmosConnection__credential", "secret"),
                ],
                "CosmosConnection__credential",
            ),
        ] {
            let message = read(settings).unwrap_err().to_string();
            assert!(message.contains(named), "{message}");
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn a_required_setting_has_its_example_only_where_nothing_is_served() {
        let required = |settings: Settings<'_>| settings.required("Sign__Key", "an example");
        assert_eq!(required(Settings::NONE).as_deref(), Ok("an example"));
        assert_eq!(required(Settings::new(&|_| Some("a key".into()))).as_deref(), Ok("a key"));
        let missing = required(Settings::ENVIRONMENT).unwrap_err().to_string();
        assert_eq!(missing, "Sign__Key is missing. Set it.");
    }

    #[test]
    fn a_bad_value_is_refused_in_a_sentence_with_the_setting_and_without_the_value() {
        let numbers = ["0", "-1", "1.5", "many", "10001", "99999999999"];
        for (given, name, values) in [
            (&[][..], "Admission__Requests", &numbers[..]),
            (&[], "Admission__MemoryMiB", &numbers),
            (&[], RATE.0, &[RATE.1]),
            (&[SINCE], RATE.0, &["0"]),
            (&[], SINCE.0, &[SINCE.1]),
            (&[RATE], SINCE.0, &["today"]),
            (&[], "Consistency__TokenMinutes", &["0", "-1", "1441", "soon"]),
            (&[], "Consistency__WaitSeconds", &["61", "11", "-1"]),
            (&[], "Consistency__MaxWaitSeconds", &["1", "61"]),
            (&[], "Log__Format", &["xml"]),
            (&[], "Audit__Repair", &["yes"]),
            (&[], "Authentication__Mode", &["easy-auth"]),
            (&[], "Background__RequestUnitsPerSecond", &["-1", "1.5", "99999999999"]),
        ] {
            for value in values {
                let message = with_store(&[given, &[(name, value)]].concat()).unwrap_err();
                assert!(message.contains(name), "{message}");
                assert!(value.len() < 4 || !message.contains(value), "{message}");
            }
        }
        let message = |name, value| with_store(&[(name, value)]).unwrap_err();
        let limits = "Admission__Requests must be a whole number from 1 to 10000.";
        assert_eq!(message("Admission__Requests", "0"), limits);
        let names = "Log__PartitionKeys must be hashed, plain or off.";
        assert_eq!(message("Log__PartitionKeys", "no"), names);
    }

    #[test]
    fn a_setting_that_is_given_counts_and_every_other_has_its_default() {
        let of = |settings: &[(&str, &str)]| with_store(settings).unwrap();
        let limits = |settings: &[_]| {
            let AdmissionOptions { requests, memory_mib, .. } = of(settings).options.admission;
            (requests, memory_mib)
        };
        assert_eq!(limits(&[]), (128, 32));
        let given = [("Admission__Requests", " 7 "), ("Admission__MemoryMiB", "256")];
        assert_eq!(limits(&given), (7, 256));

        let session = |settings: &[_]| of(settings).options.consistency;
        assert_eq!(session(&[]).max_age, Duration::from_mins(15));
        let age = ("Consistency__TokenMinutes", " 60 ");
        assert_eq!(session(&[age]).max_age, Duration::from_hours(1));
        assert!(session(&[]).secure_cookies && !session(&[LOCAL]).secure_cookies);
        let waits = [("Consistency__WaitSeconds", "0"), ("Consistency__MaxWaitSeconds", "60")];
        let ConsistencyOptions { wait, max_wait, .. } = session(&waits);
        assert_eq!((wait.as_secs(), max_wait.as_secs()), (0, 60));

        let is_simulated = |settings: &[_]| of(settings).options.clock.is_simulated();
        assert!(!is_simulated(&[]) && is_simulated(&[RATE, SINCE]));

        let repairs = |settings: &[_]| of(settings).options.audit.repair;
        assert!(!repairs(&[]) && repairs(&[("Audit__Repair", "true")]));

        let rate = |settings: &[_]| {
            of(settings).options.background.request_units_per_second.map_or(0, NonZeroU32::get)
        };
        let name = "Background__RequestUnitsPerSecond";
        let old = ("Rename__RequestUnitsPerSecond", "100");
        assert_eq!([rate(&[]), rate(&[old]), rate(&[old, (name, " 2500 ")])], [400, 100, 2_500]);
        assert_eq!([rate(&[(name, "0")]), rate(&[(old.0, "0")])], [0, 0]);
    }

    #[test]
    fn telemetry_is_for_people_on_a_laptop_and_goes_where_it_is_told_to() {
        let of = |settings: &[_]| with_store(settings).unwrap().telemetry;
        assert_eq!((of(&[]).format, of(&[LOCAL]).format), (Format::Json, Format::Text));
        assert_eq!(of(&[LOCAL, ("Log__Format", "JSON")]).format, Format::Json);
        assert_eq!(of(&[("Log__PartitionKeys", "Plain")]).partitions, PartitionNames::Plain);
        assert!(!of(&[]).recent && of(&[LOCAL]).recent);
        assert!(!of(&[LOCAL, ("Costs__Recent", "false")]).recent);
        assert_eq!(of(&[]).export, Ok(false));
        assert_eq!(of(&[ENDPOINT]).export, Ok(true));
        assert_eq!(of(&[ENDPOINT, ("OTEL_SDK_DISABLED", "true")]).export, Ok(false));
        for (settings, named) in [
            (&[(ENDPOINT.0, "localhost:4317")][..], ENDPOINT.0),
            (&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "OTEL_EXPORTER_OTLP_PROTOCOL"),
        ] {
            let message = of(settings).export.unwrap_err();
            assert!(message.contains(named), "{message}");
        }
    }

    #[test]
    fn a_core_is_left_to_the_functions_host() {
        let threads = |text: Option<&str>, cores| {
            let threads = threads(Settings::new(&|_| text.map(str::to_owned)), cores);
            threads.map_err(|error| error.to_string())
        };
        assert_eq!([1, 2, 4].map(|cores| threads(None, cores)), [Ok(1), Ok(1), Ok(3)]);
        assert_eq!(threads(Some(" 2 "), 1), Ok(2));
        assert!(threads(Some("0"), 2).unwrap_err().contains("TOKIO_WORKER_THREADS"));
    }
}
