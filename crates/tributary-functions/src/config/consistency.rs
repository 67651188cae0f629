//! Settings of the callers' sessions.

use std::time::Duration;

use super::{ConfigError, Settings};
use crate::http::ConsistencyOptions;

/// The longest wait that a setting may allow; Azure answers a caller within 230 s.
const MAX_SECONDS: u64 = 60;

/// Reads `Consistency__…`. Cookies are for HTTPS, but on a laptop.
pub(super) fn read(settings: Settings<'_>) -> Result<ConsistencyOptions, ConfigError> {
    let minutes = settings.number("Consistency__TokenMinutes", 1..=1_440)?;
    let defaults = ConsistencyOptions::default();
    let seconds = |name| settings.number(name, 0..=MAX_SECONDS);
    let wait = seconds("Consistency__WaitSeconds")?.map_or(defaults.wait, Duration::from_secs);
    let max_wait = seconds("Consistency__MaxWaitSeconds")?;
    let max_wait = max_wait.map_or(defaults.max_wait, Duration::from_secs);
    if wait > max_wait {
        return Err(ConfigError::new(
            "Consistency__WaitSeconds must not be above Consistency__MaxWaitSeconds, 10 by default.",
        ));
    }
    Ok(ConsistencyOptions {
        max_age: minutes.map_or(defaults.max_age, Duration::from_mins),
        wait,
        max_wait,
        secure_cookies: !settings.is_development(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::read;

    #[test]
    fn tokens_live_for_minutes_waits_end_and_cookies_are_for_https() {
        let store = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
        let options = |settings: &[_]| {
            Ok::<_, String>(
                read(&[&[store], settings].concat())
                    .map_err(|error| error.to_string())?
                    .consistency,
            )
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
}
