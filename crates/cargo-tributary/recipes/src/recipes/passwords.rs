//! Passwords: Argon2id with the parameters of the crate, which OWASP recommends, in a thread of its own.

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash},
};
use tributary_functions::{
    http::CpuBoundWork,
    prelude::*,
    values::{Invalid, text_schema},
};

/// A password as it was typed: 12 to 128 characters. It is neither shown nor stored.
#[derive(Clone)]
pub struct Password(String);

// No answer, copy or log line has a text that is `writeOnly`: the generic checks look for it.
text_schema!(
    Password,
    "format": "password",
    "writeOnly": true,
    "examples": ["correct horse battery staple"]
);

impl Password {
    pub fn parse(text: String) -> Result<Self, Invalid> {
        check_length(&text, 12, 128).map(|()| Self(text))
    }
}

/// Hashes passwords, one at a time. Cloning is cheap.
#[derive(Clone, Default)]
pub struct Passwords(CpuBoundWork);

impl Passwords {
    pub async fn hash(&self, password: Password) -> Result<String, ApiError> {
        let hash = move || Argon2::default().hash_password(password.0.as_bytes());
        let hash = self.0.run(move || hash().map_err(|_| ApiError::Internal)).await?;
        Ok(hash.to_string())
    }

    /// Returns true if `known` is the hash of the password. A missing one takes the same time, so no caller
    /// learns which users there are.
    pub async fn is_hash_of(
        &self,
        known: Option<String>,
        password: Password,
    ) -> Result<bool, ApiError> {
        let Some(known) = known else { return self.hash(password).await.map(|_| false) };
        let verify = move || {
            let known = PasswordHash::new(&known).map_err(|_| ApiError::Internal)?;
            Ok(Argon2::default().verify_password(password.0.as_bytes(), &known).is_ok())
        };
        self.0.run(verify).await
    }
}
