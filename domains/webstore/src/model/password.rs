//! Passwords: Argon2id, with a salt for each.
//!
//! The costs are the first that OWASP recommends (Password Storage Cheat Sheet: 46 MiB, one pass, one
//! lane). They are part of each hash, as its [`Scheme`]: a new scheme is another variant, and old
//! hashes are still compared by their own.

use std::fmt;

use argon2::{Algorithm, Argon2, Params, Version};
use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq;
use unicode_normalization::UnicodeNormalization;

use tributary_functions::{
    http::{CpuBoundError, from_form},
    values::{self, Invalid, check_length},
};

const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// A password as it was typed: 12 to 128 characters.
///
/// A password is neither shown (it has no `Debug`) nor stored. Two ways of typing one text are one password: the normal
/// form (NFC) of the text is hashed.
#[derive(Clone)]
pub struct Password(String);

from_form!(Password: text("password", Password::parse));

values::text_schema!(
    Password,
    "format": "password",
    "writeOnly": true,
    "examples": ["correct horse battery staple"]
);

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PasswordHash {
    scheme: Scheme,
    salt: String,
    hash: String,
}

/// The algorithm of a hash and its costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Scheme {
    /// Argon2id, version 1.3: 46 MiB, one pass, one lane.
    #[serde(rename = "argon2id$v=19$m=47104,t=1,p=1")]
    M47104T1P1,
}

const CURRENT_SCHEME: Scheme = Scheme::M47104T1P1;

/// The failure of a hash: no memory or no thread is left, or the stored hash is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the password could not be hashed")]
pub struct HashError;

impl From<CpuBoundError> for HashError {
    fn from(_: CpuBoundError) -> Self {
        Self
    }
}

impl Password {
    pub fn parse(text: String) -> Result<Self, Invalid> {
        check_length(&text, 12, 128).map(|()| Self(text))
    }
}

impl PasswordHash {
    pub fn new(password: &Password) -> Result<Self, HashError> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|_| HashError)?;
        let hash = CURRENT_SCHEME.hash(password, &salt)?;
        Ok(Self::encoded(CURRENT_SCHEME, &salt, &hash))
    }

    /// Returns true if `known` is the hash of this password. Without a hash, the password is compared
    /// with a dummy hash: both cases take the same time.
    pub fn matches(known: Option<&Self>, password: &Password) -> Result<bool, HashError> {
        let dummy = Self::encoded(CURRENT_SCHEME, &[0; SALT_BYTES], &[0; HASH_BYTES]);
        let Self { scheme, salt, hash } = known.unwrap_or(&dummy);
        let [salt, hash] =
            [salt, hash].map(|text| BASE64_STANDARD_NO_PAD.decode(text).map_err(|_| HashError));
        let given = scheme.hash(password, &salt?)?;
        let is_same = bool::from(given.ct_eq(&hash?));
        Ok(is_same && known.is_some())
    }

    fn encoded(scheme: Scheme, salt: &[u8], hash: &[u8]) -> Self {
        let [salt, hash] = [salt, hash].map(|bytes| BASE64_STANDARD_NO_PAD.encode(bytes));
        Self { scheme, salt, hash }
    }
}

impl Scheme {
    fn hash(self, password: &Password, salt: &[u8]) -> Result<[u8; HASH_BYTES], HashError> {
        let Self::M47104T1P1 = self;
        let params = Params::new(47_104, 1, 1, Some(HASH_BYTES)).map_err(|_| HashError)?;
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let text: String = password.0.nfc().collect();
        let mut hash = [0; HASH_BYTES];
        argon2.hash_password_into(text.as_bytes(), salt, &mut hash).map_err(|_| HashError)?;
        // Tests count these lines.
        tracing::debug!("Hashed a password");
        Ok(hash)
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn password(text: &str) -> Password {
        Password::parse(text.into()).unwrap()
    }

    #[test]
    fn each_hash_has_its_own_salt() {
        let hash = |()| PasswordHash::new(&password("correct horse battery")).unwrap();
        let [one, other] = [(); 2].map(hash);
        assert_ne!(one, other);
    }

    #[test]
    fn a_stored_hash_equals_the_hash_of_another_implementation() {
        // python3: argon2.low_level.hash_secret_raw(b"correct horse battery", b"0123456789abcdef",
        // time_cost=1, memory_cost=47104, parallelism=1, hash_len=32, type=Type.ID)
        let stored = json!({
            "scheme": "argon2id$v=19$m=47104,t=1,p=1",
            "salt": "MDEyMzQ1Njc4OWFiY2RlZg",
            "hash": "cDtm0GHgMrI7n/5Ah8aDOcx4YgJ/geJqc4eVUcXYnrg",
        });
        let stored: PasswordHash = serde_json::from_value(stored).unwrap();
        let right = password("correct horse battery");
        assert_eq!(PasswordHash::matches(Some(&stored), &right), Ok(true));
    }

    #[test]
    fn a_password_is_the_same_however_its_characters_are_composed() {
        let composed = PasswordHash::new(&password("ma\u{f1}ana ma\u{f1}ana")).unwrap();
        let decomposed = password("man\u{303}ana man\u{303}ana");
        assert_eq!(PasswordHash::matches(Some(&composed), &decomposed), Ok(true));
    }

    #[test]
    fn a_damaged_hash_is_an_error_and_matches_nothing() {
        for (salt, hash) in [("", ""), ("?", "AA"), ("MDEyMzQ1Njc4OWFiY2RlZg", "?")] {
            let stored =
                json!({"scheme": "argon2id$v=19$m=47104,t=1,p=1", "salt": salt, "hash": hash});
            let stored: PasswordHash = serde_json::from_value(stored).unwrap();
            let compared = PasswordHash::matches(Some(&stored), &password("correct horse battery"));
            assert_eq!(compared, Err(HashError), "{salt} {hash}");
        }
    }

    #[test]
    fn the_hash_of_a_password_is_not_shown() {
        let hash = PasswordHash::new(&password("correct horse battery")).unwrap();
        assert_eq!(format!("{hash:?}"), "PasswordHash");
    }
}
