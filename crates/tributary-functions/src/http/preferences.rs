//! The header `Prefer` (RFC 7240): the preferences that the app knows.

use std::time::Duration;

use axum::http::HeaderMap;

/// The preferences of a request. Others, and those with a bad value, are ignored, as the standard says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Preferences {
    /// The longest wait, in whole seconds: `wait=5`.
    pub wait: Option<Duration>,
    /// True if the answer is to set the token as a cookie: `consistency-cookie`.
    pub cookie: bool,
}

impl Preferences {
    /// Reads the preferences. The first of a name counts.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut preferences = Self::default();
        let values = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        for preference in values.flat_map(|value| value.split(',')) {
            // Parameters follow a semicolon.
            let preference = preference.split(';').next().unwrap_or_default();
            let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "wait" if preferences.wait.is_none() => {
                    preferences.wait = value.parse().ok().map(Duration::from_secs);
                }
                "consistency-cookie" => preferences.cookie = true,
                _ => {}
            }
        }
        preferences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_preferences_are_read_and_others_ignored() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("prefer", value.parse().unwrap());
            }
            let Preferences { wait, cookie } = Preferences::of(&headers);
            (wait.map(|wait| wait.as_secs()), cookie)
        };
        assert_eq!(read(&[]), (None, false));
        assert_eq!(read(&["wait=5"]), (Some(5), false));
        assert_eq!(read(&["respond-async, Wait = \"7\"; foo=1"]), (Some(7), false));
        assert_eq!(read(&["consistency-cookie", "wait=0, wait=9"]), (Some(0), true));
        for bad in ["wait", "wait=", "wait=-1", "wait=1.5", "wait=soon", "=", ",;,"] {
            assert_eq!(read(&[bad]), (None, false), "{bad}");
        }
    }
}
