//! The keys of HTTP functions, new for each run.

use http::{HeaderMap, Uri};

use super::function::AuthLevel;

/// The keys that callers need under `--enable-auth`.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    /// Opens functions with `authLevel` `function`.
    pub function: String,
    /// Opens everything, also `admin`.
    pub master: String,
}

impl Keys {
    /// Creates random keys.
    pub fn generate() -> Self {
        let key = || format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        Self { function: key(), master: key() }
    }

    /// Returns the highest level that the key of a request opens. The header wins over `?code=`.
    pub fn level(&self, headers: &HeaderMap, uri: &Uri) -> AuthLevel {
        let header = headers.get("x-functions-key").map(|value| value.to_str().unwrap_or_default());
        let key = header.or_else(|| code(uri)).unwrap_or_default();
        if key == self.master {
            AuthLevel::Admin
        } else if key == self.function {
            AuthLevel::Function
        } else {
            AuthLevel::Anonymous
        }
    }
}

/// Keys are printed once, at the start, and nowhere else.
impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Keys(…)")
    }
}

/// Returns the `code` of the query; keys are hexadecimal, so it has no escapes.
fn code(uri: &Uri) -> Option<&str> {
    uri.query()?.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.eq_ignore_ascii_case("code").then_some(value)
    })
}
