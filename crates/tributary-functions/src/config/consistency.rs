//! Settings of the callers' sessions.

use std::time::Duration;

use super::{ConfigError, Settings};
use crate::http::ConsistencyOptions;

/// Reads `Consistency__TokenMinutes`. Cookies are for HTTPS, but on a laptop.
pub(super) fn read(settings: Settings<'_>) -> Result<ConsistencyOptions, ConfigError> {
    let minutes = settings.number("Consistency__TokenMinutes", 1..=1_440)?;
    let defaults = ConsistencyOptions::default();
    Ok(ConsistencyOptions {
        max_age: minutes.map_or(defaults.max_age, Duration::from_mins),
        secure_cookies: !settings.is_development(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::tests::read;

    #[test]
    fn tokens_live_for_minutes_and_cookies_are_for_https() {
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
        for bad in ["0", "-1", "1441", "soon"] {
            let message = options(&[minutes(bad)]).unwrap_err();
            assert!(message.contains("Consistency__TokenMinutes"), "{message}");
        }
    }
}
