//! The way in which the generic checks sign in and read a refusal of this API.

use tributary_functions::config::Settings;
use tributary_testing::Answer;

use my_app::recipes::{Errors, Tokens, model::Username};

/// Returns the headers of a user, registered or not.
pub(crate) fn sign_in(user: &str) -> Vec<(&'static str, String)> {
    let tokens = Tokens::new(Settings::NONE).unwrap();
    let token = tokens.issue(&Username::parse(user.to_owned()).unwrap()).unwrap();
    vec![("authorization", format!("Token {token}"))]
}

pub(crate) fn read_refusal(answer: &Answer, slug: &str) -> Result<Vec<String>, String> {
    let body: Errors = serde_json::from_str(&answer.text).map_err(|error| error.to_string())?;
    let fields: Vec<String> = body.errors.into_keys().collect();
    match fields.as_slice() {
        [kind] if kind == slug => Ok(Vec::new()),
        _ if matches!(slug, "validation" | "taken") => Ok(fields),
        // The word for what is missing.
        [_] if slug == "not-found" => Ok(Vec::new()),
        _ => Err(format!("{fields:?} is no {slug}")),
    }
}

pub(crate) fn status_of(slug: &str, status: u16) -> u16 {
    if matches!(slug, "validation" | "taken") { 422 } else { status }
}
