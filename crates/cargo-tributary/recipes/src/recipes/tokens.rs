//! The sign-in: `Authorization: Token …` or `Bearer …`, with a JWT that names the user.

use std::sync::Arc;

use axum::http::{HeaderMap, header::AUTHORIZATION, request::Parts};
use jsonwebtoken::{
    DecodingKey, EncodingKey, Header, Validation, decode, encode, get_current_timestamp,
};
use serde::{Deserialize, Serialize};
use tributary_functions::{audit::async_trait, config::Settings, http::SignIn, prelude::*};

use super::Username;

const DAY_SECONDS: u64 = 24 * 60 * 60;

/// HS256 needs a secret as long as its hash.
const MIN_SECRET_BYTES: usize = 32;

/// The secret of tests, and that of `local.settings.json.example`.
const EXAMPLE_SECRET: &str = "for this machine only, 32 bytes or more";

const BAD_TOKEN: ApiError = ApiError::Unauthorized("The token is not valid. Log in again.");

/// Issues and checks tokens. Cloning is cheap.
#[derive(Clone)]
pub struct Tokens(Arc<(EncodingKey, DecodingKey)>);

#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    exp: u64,
}

pub fn sign_in(context: &Context<'_>) -> Result<Arc<dyn SignIn>, ConfigError> {
    Ok(Arc::new(Tokens::new(context.settings)?))
}

impl Tokens {
    /// Reads the secret. It has no default: an app without it does not start.
    pub fn new(settings: Settings<'_>) -> Result<Self, ConfigError> {
        let secret = settings.required("TokenSecret", EXAMPLE_SECRET)?;
        let secret = Some(secret.as_bytes()).filter(|secret| secret.len() >= MIN_SECRET_BYTES);
        let keys = secret.and_then(|secret| {
            Some((EncodingKey::from_secret(secret).ok()?, DecodingKey::from_secret(secret).ok()?))
        });
        let short = || ConfigError::new("TokenSecret must have 32 bytes or more.");
        keys.map(|keys| Self(Arc::new(keys))).ok_or_else(short)
    }

    pub fn issue(&self, user: &Username) -> Result<String, ApiError> {
        // Seven days, and the rest of this one: so an answer has one token, and one ETag, all day.
        let exp = (get_current_timestamp() / DAY_SECONDS + 8) * DAY_SECONDS;
        let claims = Claims { sub: user.to_string(), exp };
        encode(&Header::default(), &claims, &self.0.0).map_err(|_| ApiError::Internal)
    }
}

#[async_trait]
impl SignIn for Tokens {
    /// Checks the signature and the time. No request goes to the store.
    async fn caller(&self, request: &Parts) -> Result<Option<Actor>, ApiError> {
        let Some(token) = token_of(&request.headers)? else { return Ok(None) };
        let decoded = decode::<Claims>(token, &self.0.1, &Validation::default());
        Actor::user(decoded.map_err(|_| BAD_TOKEN)?.claims.sub).map(Some)
    }
}

/// Returns the token of a request; `None` without one.
fn token_of(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(header) = headers.get(AUTHORIZATION) else { return Ok(None) };
    let text = header.to_str().map_err(|_| BAD_TOKEN)?;
    let token = ["Token ", "Bearer "].into_iter().find_map(|scheme| text.strip_prefix(scheme));
    token.map(Some).ok_or(BAD_TOKEN)
}
