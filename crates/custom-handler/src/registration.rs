//! Names and routes that functions may have.

/// The error of a function with a name or a route that it cannot have.
///
/// The builder keeps the first error and returns it when the app is served or turned into a router.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistrationError {
    /// The name cannot be the name of a folder with a `function.json`.
    #[error(
        "`{0}` cannot be the name of a function: use a letter and up to 127 more letters, digits, \
         `_` or `-`, and not `host`"
    )]
    InvalidName(String),
    /// The name is taken. For the host, upper and lower case are the same.
    #[error("a function named `{0}` is registered twice: give each function a name of its own")]
    DuplicateName(String),
    /// The route of an HTTP function does not lie below [`ROUTE_PREFIX`].
    #[error(
        "the route `{route}` of `{name}` is not below `{ROUTE_PREFIX}`: the Functions host starts a \
         trigger with `POST /<name>`, so no caller may reach such a path"
    )]
    RouteOutsidePrefix {
        /// The function.
        name: String,
        /// Its route.
        route: String,
    },
}

/// The prefix of the routes of HTTP functions, unless `host.json` has another.
pub const ROUTE_PREFIX: &str = "/api/";

/// Checks the host's rule for names of functions: `^[a-z][a-z0-9_\-]{0,127}$` in any case, not `host`.
pub(crate) fn is_function_name(name: &str) -> bool {
    name.len() <= 128
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && !name.eq_ignore_ascii_case("host")
}
