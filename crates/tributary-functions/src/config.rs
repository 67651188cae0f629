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
    /// The account: `CosmosConnection…`; its database, `CosmosDatabase` or the app's name; and its
    /// regions, `Cosmos__PreferredRegions`.
    pub cosmos: CosmosOptions,
    /// The settings of the app.
    pub options: AppOptions,
    /// The settings of logs and telemetry.
    ///
    /// - `Log__Format`: `json` or `text`. Without it, text where Core Tools or `cargo local` runs the
    ///   handler (they set `AZURE_FUNCTIONS_ENVIRONMENT` to `Development`), and JSON elsewhere.
    /// - `Log__PartitionKeys`: `hashed`, `plain` or `off`.
    /// - `Costs__Recent`: `true` keeps records of recent requests and batches with their costs. Without it,
    ///   `true` where Core Tools or `cargo local` runs the handler, and `false` elsewhere.
    /// - `OTEL_EXPORTER_OTLP_ENDPOINT` exports, unless `OTEL_SDK_DISABLED` is `true`. The exporter
    ///   reads its other settings itself.
    pub(crate) telemetry: TelemetryOptions,
}

/// Settings of the app that belong to no domain.
#[derive(Debug, Clone, Copy, Default)]
pub struct AppOptions {
    /// The limits of concurrent requests and of their memory:
    /// `Admission__Requests` and `Admission__MemoryMiB`.
    pub admission: AdmissionOptions,
    /// The settings of the callers' sessions: `Consistency__TokenMinutes`.
    pub consistency: ConsistencyOptions,
    /// The source of the caller's identity: `Authentication__Mode`, `none` or `easyauth`.
    pub authentication: Authentication,
    /// The budget and the slices of background work: `Background__RequestUnitsPerSecond` is its budget in
    /// request units a second, or 0 for no limit.
    pub background: BackgroundOptions,
    /// The settings of the audits that timers start: `Audit__Repair`, `true` to repair the findings.
    pub audit: audit::AuditOptions,
    /// The clock of the domains that act by the time; for simulations, one that runs `Clock__Rate` times as
    /// fast since `Clock__Since`.
    pub clock: Clock,
    /// The settings of the projections: `Projections__StateSeconds`, the time for which an instance may use
    /// the state of a projection that it has read; `Projections__PauseAfterFailures`, the number of changes
    /// that fail within `Projections__FailureMinutes`, 10 by default, before a projection pauses itself;
    /// `Projections__EagerMilliseconds`, the longest time of an eager application, or 0 for none.
    pub projections: ProjectionOptions,
}

/// Returns the number of threads that serve requests: `TOKIO_WORKER_THREADS`, 1 to 1,024. Without the
/// setting, one less than the cores, and at least one. (Tokio would read the setting, too, and panic
/// on a bad value.)
///
/// The remaining core is for the Functions host. Threads that share a core with another process cost
/// more than they bring, since they wake each other (`docs/performance.md`).
pub fn worker_threads() -> Result<NonZeroUsize, ConfigError> {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    threads(Settings::ENVIRONMENT, cores)
}

fn threads(settings: Settings<'_>, cores: usize) -> Result<NonZeroUsize, ConfigError> {
    const NAME: &str = "TOKIO_WORKER_THREADS";
    let Some(text) = settings.text(NAME) else {
        return Ok(NonZeroUsize::new(cores - 1).unwrap_or(NonZeroUsize::MIN));
    };
    let threads = text.trim().parse().ok().filter(|threads: &NonZeroUsize| threads.get() <= 1_024);
    threads.ok_or_else(|| error(format!("{NAME} must be a whole number from 1 to 1024.")))
}

impl Config {
    /// Reads the settings that belong to no domain.
    pub fn read(settings: Settings<'_>) -> Result<Self, ConfigError> {
        let cosmos = CosmosOptions {
            account: cosmos::account(settings)?,
            database: settings.text("CosmosDatabase").unwrap_or_else(|| brand().name.into()),
            routing: cosmos::routing(settings),
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
        let telemetry = TelemetryOptions {
            format: settings.choice("Log__Format", formats)?.unwrap_or(usual),
            export: export(settings).map_err(|error| error.to_string()),
            partitions: settings.choice("Log__PartitionKeys", names)?.unwrap_or_default(),
            recent: recent(settings)?,
        };
        Ok(Self { cosmos, options, telemetry })
    }
}

/// Reads whether the costs of recent work are recorded: as a rule where a developer runs the app.
fn recent(settings: Settings<'_>) -> Result<bool, ConfigError> {
    Ok(settings.given_switch("Costs__Recent")?.unwrap_or(settings.is_development()))
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
    let names = ["Background__RequestUnitsPerSecond", "Rename__RequestUnitsPerSecond"];
    let Some((name, text)) = names.into_iter().find_map(|name| Some((name, settings.text(name)?)))
    else {
        return Ok(BackgroundOptions::default());
    };
    let rate = text.trim().parse::<u32>().map_err(|_| {
        error(format!(
            "{name} must be a whole number: the request units a second that renames and removals of \
             an instance may use, or 0 for no limit."
        ))
    })?;
    Ok(BackgroundOptions { request_units_per_second: NonZeroU32::new(rate), ..Default::default() })
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

/// Reads the mode of authentication. The mode `easyauth` trusts headers, and only the platform removes
/// such headers from requests, as long as its authentication is on. So the app refuses to start if the
/// platform says that authentication is off.
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
    use std::time::Duration;

    use super::*;

    const STORE: (&str, &str) =
        ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");

    pub(super) fn read(settings: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::read(Settings::new(&|name| {
            settings.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned())
        }))
    }

    #[test]
    fn the_clock_is_the_real_one_unless_both_of_its_settings_are_good() {
        let rate = ("Clock__Rate", "300");
        let since = ("Clock__Since", "2026-11-22T20:00:00Z");
        assert!(!read(&[STORE]).unwrap().options.clock.is_simulated());
        assert!(read(&[STORE, rate, since]).unwrap().options.clock.is_simulated());
        for bad in [
            &[STORE, rate][..],
            &[STORE, since],
            &[STORE, ("Clock__Rate", "0"), since],
            &[STORE, rate, ("Clock__Since", "today")],
        ] {
            let message = read(bad).unwrap_err().to_string();
            assert!(message.contains("Clock__"), "{message}");
        }
    }

    #[test]
    fn callers_are_believed_only_where_the_platform_vouches_for_them() {
        let mode = |settings: &[(&str, &str)]| {
            let config = read(&[&[STORE], settings].concat());
            config.map(|config| config.options.authentication).map_err(|error| error.to_string())
        };
        let easyauth = ("Authentication__Mode", "EasyAuth");
        let site = ("WEBSITE_SITE_NAME", "tributary");
        let instance = ("WEBSITE_INSTANCE_ID", "1");
        let on = ("WEBSITE_AUTH_ENABLED", "True");
        let off = ("WEBSITE_AUTH_ENABLED", "False");
        for settings in [&[][..], &[("Authentication__Mode", "none"), site], &[site, on]] {
            assert_eq!(mode(settings), Ok(Authentication::None), "{settings:?}");
        }
        for settings in [&[easyauth][..], &[easyauth, site, on], &[easyauth, instance, on]] {
            assert_eq!(mode(settings), Ok(Authentication::EasyAuth), "{settings:?}");
        }
        for settings in [&[easyauth, site][..], &[easyauth, instance, off]] {
            assert!(mode(settings).unwrap_err().contains("Turn it on"), "{settings:?}");
        }
        for other in ["easy-auth", "true", "aad"] {
            let message = mode(&[("Authentication__Mode", other)]).unwrap_err();
            assert_eq!(message, "Authentication__Mode must be none or easyauth.");
        }
    }

    #[test]
    fn a_bad_setting_is_named_in_one_sentence_without_its_value() {
        for (settings, named) in [
            (&[][..], "CosmosConnection"),
            (&[("CosmosConnection", " ")], "CosmosConnection"),
            (&[("CosmosConnection", "secret")], "CosmosConnection must look like"),
            (
                &[("CosmosConnection", "AccountEndpoint=secret;AccountKey=secret")],
                "CosmosConnection",
            ),
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
    fn limits_are_whole_numbers_within_reason() {
        let limits = |settings: &[(&str, &str)]| {
            let config = read(&[&[STORE], settings].concat());
            config.map(|config| {
                (config.options.admission.requests, config.options.admission.memory_mib)
            })
        };
        let names = ["Admission__Requests", "Admission__MemoryMiB"];
        assert_eq!(limits(&[]), Ok((128, 32)));
        assert_eq!(limits(&[(names[0], " 7 "), (names[1], "256")]), Ok((7, 256)));
        for name in names {
            for bad in ["0", "-1", "1.5", "many", "10001", "99999999999"] {
                let message = limits(&[(name, bad)]).unwrap_err().to_string();
                assert_eq!(message, format!("{name} must be a whole number from 1 to 10000."));
            }
        }
    }

    #[test]
    fn tokens_live_for_minutes_waits_end_and_cookies_are_for_https() {
        let options = |settings: &[_]| {
            let config = read(&[&[STORE], settings].concat());
            config.map(|config| config.options.consistency).map_err(|error| error.to_string())
        };
        let minutes = |minutes: &'static str| ("Consistency__TokenMinutes", minutes);
        assert_eq!(options(&[]).unwrap().max_age, Duration::from_mins(15));
        assert_eq!(options(&[minutes(" 60 ")]).unwrap().max_age, Duration::from_hours(1));
        assert!(options(&[]).unwrap().secure_cookies);
        let local = ("AZURE_FUNCTIONS_ENVIRONMENT", "Development");
        assert!(!options(&[local]).unwrap().secure_cookies);
        let wait = |seconds: &'static str| ("Consistency__WaitSeconds", seconds);
        let max_wait = |seconds: &'static str| ("Consistency__MaxWaitSeconds", seconds);
        let waits = options(&[wait("0"), max_wait("60")]).unwrap();
        assert_eq!((waits.wait.as_secs(), waits.max_wait.as_secs()), (0, 60));
        for bad in [wait("61"), wait("11"), max_wait("1"), max_wait("61"), wait("-1")] {
            let message = options(&[bad]).unwrap_err();
            assert!(message.contains(bad.0), "{message}");
        }
        for bad in ["0", "-1", "1441", "soon"] {
            let message = options(&[minutes(bad)]).unwrap_err();
            assert!(message.contains("Consistency__TokenMinutes"), "{message}");
        }
    }

    #[test]
    fn log_lines_are_text_on_a_laptop_and_json_elsewhere() {
        let local = ("AZURE_FUNCTIONS_ENVIRONMENT", "Development");
        let format = |settings: &[_]| read(settings).unwrap().telemetry.format;
        assert_eq!(format(&[STORE]), Format::Json);
        assert_eq!(format(&[STORE, local]), Format::Text);
        assert_eq!(format(&[STORE, local, ("Log__Format", "JSON")]), Format::Json);
        assert_eq!(format(&[STORE, ("Log__Format", "text")]), Format::Text);
        let message = read(&[STORE, ("Log__Format", "xml")]).unwrap_err().to_string();
        assert!(message.contains("Log__Format"), "{message}");
    }

    #[test]
    fn keys_of_partitions_are_shown_only_when_that_is_asked_for() {
        let names = |value| read(&[STORE, ("Log__PartitionKeys", value)]);
        for (value, expected) in [
            ("", PartitionNames::Hashed),
            ("hashed", PartitionNames::Hashed),
            ("Plain", PartitionNames::Plain),
            ("off", PartitionNames::Off),
        ] {
            assert_eq!(names(value).unwrap().telemetry.partitions, expected);
        }
        let message = names("true").unwrap_err().to_string();
        assert!(message.contains("Log__PartitionKeys"), "{message}");
    }

    #[test]
    fn costs_are_recorded_on_a_laptop_and_elsewhere_only_when_that_is_asked_for() {
        let local = ("AZURE_FUNCTIONS_ENVIRONMENT", "Development");
        let recent = |settings: &[_]| read(settings).unwrap().telemetry.recent;
        assert!(!recent(&[STORE]) && recent(&[STORE, local]));
        assert!(!recent(&[STORE, local, ("Costs__Recent", "false")]));
        assert!(recent(&[STORE, ("Costs__Recent", "True")]));
        let message = read(&[STORE, ("Costs__Recent", "yes")]).unwrap_err().to_string();
        assert!(message.contains("Costs__Recent"), "{message}");
    }

    #[test]
    fn telemetry_is_exported_only_to_an_endpoint_that_is_set() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        let export = |settings: &[_]| read(settings).unwrap().telemetry.export;
        assert_eq!(export(&[STORE]), Ok(false));
        assert_eq!(export(&[STORE, endpoint]), Ok(true));
        assert_eq!(export(&[STORE, endpoint, ("OTEL_SDK_DISABLED", "true")]), Ok(false));
        for (bad, named) in [
            (
                &[("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317")][..],
                "OTEL_EXPORTER_OTLP_ENDPOINT",
            ),
            (&[endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], "OTEL_EXPORTER_OTLP_PROTOCOL"),
        ] {
            let message = export(&[&[STORE], bad].concat()).unwrap_err();
            assert!(message.contains(named), "{message}");
        }
    }

    #[test]
    fn the_audit_repairs_only_when_it_is_told_to() {
        assert!(!read(&[STORE]).unwrap().options.audit.repair);
        assert!(!read(&[STORE, ("Audit__Repair", "False")]).unwrap().options.audit.repair);
        assert!(read(&[STORE, ("Audit__Repair", "true")]).unwrap().options.audit.repair);
        let message = read(&[STORE, ("Audit__Repair", "yes")]).unwrap_err().to_string();
        assert!(message.contains("Audit__Repair"), "{message}");
    }

    #[test]
    fn the_background_has_a_budget_unless_it_is_told_otherwise() {
        const NAME: &str = "Background__RequestUnitsPerSecond";
        const OLD_NAME: &str = "Rename__RequestUnitsPerSecond";
        let rate = |settings: &[(&str, &str)]| {
            let config = read(&[&[STORE], settings].concat())?;
            let rate = config.options.background.request_units_per_second;
            Ok::<_, ConfigError>(rate.map_or(0, NonZeroU32::get))
        };
        assert_eq!(rate(&[]).unwrap(), 400);
        assert_eq!(rate(&[(OLD_NAME, "100"), (NAME, " 2500 ")]).unwrap(), 2_500);
        assert_eq!(rate(&[(OLD_NAME, "100")]).unwrap(), 100);
        for name in [NAME, OLD_NAME] {
            assert_eq!(rate(&[(name, "0")]).unwrap(), 0);
            for bad in ["-1", "1.5", "fast", "99999999999"] {
                let message = rate(&[(name, bad)]).unwrap_err().to_string();
                assert!(message.contains(name) && !message.contains(bad), "{message}");
            }
        }
    }

    #[test]
    fn a_core_is_left_to_the_functions_host() {
        let threads = |text: Option<&str>, cores| {
            let threads = threads(Settings::new(&|_| text.map(str::to_owned)), cores);
            threads.map(NonZeroUsize::get).map_err(|error| error.to_string())
        };
        for (cores, expected) in [(1, 1), (2, 1), (4, 3)] {
            assert_eq!(threads(None, cores), Ok(expected));
            assert_eq!(threads(Some(" "), cores), Ok(expected));
        }
        assert_eq!(threads(Some(" 2 "), 1), Ok(2));
        for bad in ["0", "-1", "many", "1025", "99999999999999999999"] {
            let message = threads(Some(bad), 2).unwrap_err();
            assert!(message.contains("TOKIO_WORKER_THREADS"), "{message}");
        }
    }
}
