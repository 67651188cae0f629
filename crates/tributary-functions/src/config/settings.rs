//! App settings by their names.

use std::{env, fmt, ops::RangeInclusive, str::FromStr, time::Duration};

use crate::http::{AdmissionOptions, ConsistencyOptions};

/// The app settings. An empty setting counts as not set.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    look_up: &'a dyn Fn(&str) -> Option<String>,
    /// True for an app that serves, and so has all settings that it requires.
    is_complete: bool,
}

/// A setting that is missing or bad, in one sentence that never has its value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// Creates an error from a sentence that names the setting and says what to do.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl Settings<'static> {
    pub(crate) const ENVIRONMENT: Self =
        Self { look_up: &|name| env::var(name).ok(), is_complete: true };

    /// No settings: each has its default, or its example if the app requires it.
    pub const NONE: Self = Self { look_up: &|_| None, is_complete: false };
}

impl<'a> Settings<'a> {
    /// Creates settings, for a test, from a function that looks one up by its name.
    pub fn new(look_up: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { look_up, is_complete: false }
    }

    /// Returns a setting as it was written; `None` if it is not set.
    pub fn text(self, name: &str) -> Option<String> {
        (self.look_up)(name).filter(|value| !value.trim().is_empty())
    }

    /// Returns a setting without which the app does not serve. Commands and tests without settings get the example.
    pub fn required(self, name: &str, example: &str) -> Result<String, ConfigError> {
        let example = || (!self.is_complete).then(|| example.to_owned());
        let text = self.text(name).or_else(example);
        text.ok_or_else(|| ConfigError::new(format!("{name} is missing. Set it.")))
    }

    pub(crate) fn is_development(self) -> bool {
        let environment = self.text("AZURE_FUNCTIONS_ENVIRONMENT");
        environment.is_some_and(|name| name.eq_ignore_ascii_case("Development"))
    }

    pub(crate) fn switch(self, name: &str) -> Result<bool, ConfigError> {
        Ok(self.given_switch(name)?.unwrap_or(false))
    }

    pub(super) fn given_switch(self, name: &str) -> Result<Option<bool>, ConfigError> {
        self.choice(name, [("true", true), ("false", false)])
    }

    pub(super) fn choice<T, const N: usize>(
        self,
        name: &str,
        choices: [(&str, T); N],
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let words = choices.each_ref().map(|(word, _)| *word);
        let chosen = choices.into_iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
        let (last, first) = words.split_last().unwrap_or((&"", &[]));
        let sentence = || format!("{name} must be {} or {last}.", first.join(", "));
        chosen.map(|(_, value)| Some(value)).ok_or_else(|| ConfigError::new(sentence()))
    }

    /// Returns a setting that is a whole number within a range; `None` if it is not set.
    pub fn number<T: FromStr + PartialOrd + fmt::Display>(
        self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.trim().parse().ok().filter(|number| range.contains(number));
        let (first, last) = range.into_inner();
        let sentence = || format!("{name} must be a whole number from {first} to {last}.");
        number.map(Some).ok_or_else(|| ConfigError::new(sentence()))
    }
}

const ALLOWED_LIMITS: RangeInclusive<u16> = 1..=10_000;

pub(super) fn admission(settings: Settings<'_>) -> Result<AdmissionOptions, ConfigError> {
    let limit = |name| settings.number(name, ALLOWED_LIMITS);
    let default = AdmissionOptions::default();
    Ok(AdmissionOptions {
        requests: limit("Admission__Requests")?.unwrap_or(default.requests),
        memory_mib: limit("Admission__MemoryMiB")?.unwrap_or(default.memory_mib),
        ..default
    })
}

/// The longest wait that a setting may allow; Azure answers a caller within 230 s.
const MAX_SECONDS: u64 = 60;

/// Reads `Consistency__…`. Cookies are for HTTPS, but on a laptop.
pub(super) fn consistency(settings: Settings<'_>) -> Result<ConsistencyOptions, ConfigError> {
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
