//! `Admission__…`: the limits of concurrent requests and of their memory.

use std::ops::RangeInclusive;

use super::{ConfigError, Settings};
use crate::http::AdmissionOptions;

const ALLOWED_LIMITS: RangeInclusive<u16> = 1..=10_000;

pub(super) fn read(settings: Settings<'_>) -> Result<AdmissionOptions, ConfigError> {
    let default = AdmissionOptions::default();
    Ok(AdmissionOptions {
        requests: settings
            .number("Admission__Requests", ALLOWED_LIMITS)?
            .unwrap_or(default.requests),
        memory_mib: settings
            .number("Admission__MemoryMiB", ALLOWED_LIMITS)?
            .unwrap_or(default.memory_mib),
        ..default
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;

    #[test]
    fn limits_are_whole_numbers_within_reason() {
        let store = ("CosmosConnection", "AccountEndpoint=http://127.0.0.1:8081/;AccountKey=a2V5");
        let limits = |settings: &[(&str, &str)]| {
            let config = read(&[&[store], settings].concat());
            config.map(|config| (config.admission.requests, config.admission.memory_mib))
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
}
