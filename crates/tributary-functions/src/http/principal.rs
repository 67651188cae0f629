//! The caller of a function, by the app's own [`SignIn`] or by App Service Authentication ("Easy Auth").
//!
//! The platform signs callers in, removes such headers from their requests, and adds its own
//! (learn.microsoft.com/azure/app-service/configure-authentication-user-identities):
//! `X-MS-CLIENT-PRINCIPAL-ID` is the id that the identity provider gave, `-IDP` names the provider, and
//! `X-MS-CLIENT-PRINCIPAL` has the claims, as JSON in Base64. Without the platform in front, any caller
//! can send such headers. So they are read in the mode [`Authentication::EasyAuth`] only.

use std::sync::Arc;

use async_trait::async_trait;
use axum::{
    extract::{FromRequestParts, OptionalFromRequestParts},
    http::{HeaderMap, request::Parts},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ApiError;
use crate::values::check_id;

/// The source of the caller's identity: the setting `Authentication__Mode`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Authentication {
    /// None: a caller with a function key may act for every user.
    #[default]
    None,
    /// App Service Authentication.
    EasyAuth,
}

/// The sign-in of an app's own, which [`Program::sign_in`](crate::program::Program::sign_in) sets.
#[async_trait]
pub trait SignIn: Send + Sync + 'static {
    /// Returns the caller of a request; `None` without credentials. Bad ones are an [`ApiError::Unauthorized`].
    async fn caller(&self, request: &Parts) -> Result<Option<Actor>, ApiError>;

    /// Returns the security scheme of the OpenAPI document.
    fn scheme(&self) -> Value {
        json!({"type": "http", "scheme": "bearer"})
    }
}

#[async_trait]
impl SignIn for Authentication {
    async fn caller(&self, request: &Parts) -> Result<Option<Actor>, ApiError> {
        match self {
            Self::None => Ok(Some(Actor::ANY_USER)),
            Self::EasyAuth => easyauth_caller(&request.headers),
        }
    }

    fn scheme(&self) -> Value {
        let description = "App Service Authentication, where the app is set up for it.";
        json!({"type": "http", "scheme": "bearer", "description": description})
    }
}

/// The sign-in of a request, in its extensions.
#[derive(Clone)]
pub(crate) struct SignedInBy(pub Arc<dyn SignIn>);

/// The caller of a command, signed in where the app knows users. With `Option<Actor>` a handler also serves
/// callers without credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(Option<String>);

impl Actor {
    /// A caller that may act for every user.
    pub const ANY_USER: Self = Self(None);

    /// Creates a caller that is signed in as this user. Fails with a 403 if no user can have the id.
    pub fn user(id: impl Into<String>) -> Result<Self, ApiError> {
        let id = id.into();
        check_id(&id).map(|()| Self(Some(id))).map_err(|_| ApiError::Forbidden(
            "Your identity provider's id cannot be a user id: it must be 1 to 128 letters, digits, '.', '_' or '-'.",
        ))
    }

    /// Returns the user id of the caller; `None` for a caller that may act for every user.
    pub fn user_id(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Fails with a 403 if the caller is signed in as another user than `user_id`.
    pub fn must_be(&self, user_id: &str) -> Result<(), ApiError> {
        match &self.0 {
            Some(own) if own != user_id => Err(ApiError::Forbidden(
                "Only the owner may change this. You are signed in as another user.",
            )),
            _ => Ok(()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Actor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let actor = <Self as OptionalFromRequestParts<S>>::from_request_parts(parts, state).await?;
        actor.ok_or(NOT_SIGNED_IN)
    }
}

/// The app puts its sign-in into the extensions of each request. A request without one has no caller, so no caller
/// may act for every user by mistake.
impl<S: Sync> OptionalFromRequestParts<S> for Actor {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, ApiError> {
        let Some(SignedInBy(sign_in)) = parts.extensions.get().cloned() else { return Ok(None) };
        sign_in.caller(parts).await
    }
}

#[derive(Deserialize)]
struct Principal {
    auth_typ: Option<String>,
    claims: Vec<Claim>,
}

#[derive(Deserialize)]
struct Claim {
    typ: String,
    val: String,
}

/// The names of the claim with the object id of Microsoft Entra. The platform uses long names by default,
/// and short ones as a setting.
const OBJECT_ID: [&str; 2] =
    ["http://schemas.microsoft.com/identity/claims/objectidentifier", "oid"];

/// The names of the claim with the id that every provider gives.
const SUBJECT: [&str; 2] =
    ["http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier", "sub"];

const ENTRA: &str = "aad";

/// The most bytes of a header: more than the platform lets through.
const MAX_HEADER_BYTES: usize = 32 * 1024;

const NOT_SIGNED_IN: ApiError =
    ApiError::Unauthorized("This command acts for a user. Sign in first.");

const UNREADABLE: ApiError = ApiError::Unauthorized(
    "The headers of App Service Authentication are not valid. Sign in again.",
);

/// Returns the caller, under its user id: the id that Microsoft Entra gave, or `<provider>.<id>` for another
/// provider. No id of Entra has a dot, so no two callers have the same user id.
fn easyauth_caller(headers: &HeaderMap) -> Result<Option<Actor>, ApiError> {
    let id = header(headers, "x-ms-client-principal-id")?;
    let provider = header(headers, "x-ms-client-principal-idp")?;
    let principal = header(headers, "x-ms-client-principal")?.map(Principal::read).transpose()?;

    let claimed = principal.as_ref().and_then(|principal| principal.auth_typ.as_deref());
    let provider = provider.or(claimed).unwrap_or(ENTRA);
    if !is_name(provider) {
        return Err(UNREADABLE);
    }
    let claimed = principal.as_ref().and_then(|principal| principal.id(provider));
    let user_id = match id.or(claimed) {
        Some(id) if provider == ENTRA => id.to_owned(),
        Some(id) => format!("{provider}.{id}"),
        None if principal.is_some() => return Err(UNREADABLE),
        None => return Ok(None),
    };
    Actor::user(user_id).map(Some)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, ApiError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|text| (1..=MAX_HEADER_BYTES).contains(&text.len()));
    text.filter(|_| values.next().is_none()).map(Some).ok_or(UNREADABLE)
}

/// Returns true for the name of a provider: a dot would make `<provider>.<id>` ambiguous.
fn is_name(provider: &str) -> bool {
    !provider.is_empty()
        && provider.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_'))
}

impl Principal {
    fn read(text: &str) -> Result<Self, ApiError> {
        let json = STANDARD.decode(text).map_err(|_| UNREADABLE)?;
        serde_json::from_slice(&json).map_err(|_| UNREADABLE)
    }

    /// Returns the caller's id. The object id counts only for Microsoft Entra: users of another provider may
    /// have chosen the value of a claim with this name.
    fn id(&self, provider: &str) -> Option<&str> {
        let object_id = OBJECT_ID.iter().filter(|_| provider == ENTRA);
        let value = |typ: &&str| self.claims.iter().find(|claim| claim.typ == *typ);
        object_id.chain(&SUBJECT).find_map(value).map(|claim| claim.val.as_str())
    }
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;

    use super::*;

    /// Returns the outcome of these headers: a user, or the status of a problem.
    fn caller(headers: &[(&'static str, &str)]) -> Result<String, u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let caller = easyauth_caller(&map).and_then(|caller| caller.ok_or(NOT_SIGNED_IN));
        let id = caller.map(|caller| caller.0.unwrap_or_default());
        id.map_err(|error| error.into_response().status().as_u16())
    }

    fn encoded(json: &str) -> String {
        STANDARD.encode(json)
    }

    const ID: &str = "x-ms-client-principal-id";
    const IDP: &str = "x-ms-client-principal-idp";
    const CLAIMS: &str = "x-ms-client-principal";
    const ENTRA_ID: &str = "0c1f5595-fcd9-48f5-b95b-0a4c3b91b22e";

    #[test]
    fn the_claims_name_the_caller_where_no_other_header_does() {
        let entra = format!(
            r#"{{"auth_typ":"aad","claims":[
                {{"typ":"name","val":"Ann"}},
                {{"typ":"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier","val":"pairwise"}},
                {{"typ":"http://schemas.microsoft.com/identity/claims/objectidentifier","val":"{ENTRA_ID}"}}
            ],"name_typ":"name","role_typ":"roles"}}"#
        );
        assert_eq!(caller(&[(CLAIMS, &encoded(&entra))]), Ok(ENTRA_ID.into()));
        let google = r#"{"auth_typ":"google","claims":[
            {"typ":"oid","val":"chosen"},
            {"typ":"sub","val":"1077"}
        ]}"#;
        assert_eq!(caller(&[(CLAIMS, &encoded(google))]), Ok("google.1077".into()));
        assert_eq!(caller(&[(CLAIMS, &encoded(google)), (ID, "1078")]), Ok("google.1078".into()));
    }

    #[test]
    fn headers_that_the_platform_would_not_write_are_refused() {
        let long = "A".repeat(MAX_HEADER_BYTES + 1);
        let nobody = encoded(r#"{"auth_typ":"aad","claims":[{"typ":"name","val":"Ann"}]}"#);
        for headers in [
            &[][..],
            &[(IDP, "aad")],
            &[(ID, "")],
            &[(ID, "ann"), (ID, "bob")],
            &[(ID, "ann"), (IDP, "aad"), (IDP, "google")],
            &[(ID, "ann"), (IDP, "goo.gle")],
            &[(ID, "ä")],
            &[(ID, "ann"), (CLAIMS, "not Base64")],
            &[(ID, "ann"), (CLAIMS, &encoded("not JSON"))],
            &[(ID, "ann"), (CLAIMS, &encoded(r#"{"claims":[{"typ":1}]}"#))],
            &[(ID, "ann"), (CLAIMS, &long)],
            &[(CLAIMS, &nobody)],
            &[(CLAIMS, &encoded(r#"{"auth_typ":"","claims":[{"typ":"sub","val":"1077"}]}"#))],
            &[(CLAIMS, &encoded(r#"{"userId":"ann","userRoles":["authenticated"]}"#))],
        ] {
            assert_eq!(caller(headers), Err(401), "{headers:?}");
        }
        let long = "a".repeat(129);
        for id in ["auth0|1077", "-ann", "ann@example.com", " ann", &long] {
            assert_eq!(caller(&[(ID, id)]), Err(403), "{id:?}");
        }
    }
}
