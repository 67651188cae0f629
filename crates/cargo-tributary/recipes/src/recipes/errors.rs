//! The errors of the API: `{"errors": {"recipe.title": ["must be …"]}}`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tributary_functions::{
    http::{ErrorBody, Refusal},
    prelude::*,
};

/// The body of every refusal. Its keys are bad fields, what is missing, or the kind of the refusal.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(example = json!({"errors": {"recipe.title": ["must be 1 to 100 characters long"]}}))]
pub struct Errors {
    pub errors: BTreeMap<String, Vec<String>>,
}

impl From<Refusal> for Errors {
    fn from(refusal: Refusal) -> Self {
        let mut errors = BTreeMap::<_, Vec<_>>::new();
        for bad in refusal.errors {
            errors.entry(bad.field).or_default().push(bad.message);
        }
        if errors.is_empty() {
            let key = refusal.noun.unwrap_or(refusal.slug);
            errors.insert(key.to_owned(), vec![refusal.detail]);
        }
        Self { errors }
    }
}

impl ErrorBody for Errors {
    fn status(refusal: &Refusal) -> StatusCode {
        let is_of_fields = matches!(refusal.slug, "validation" | "taken");
        if is_of_fields { StatusCode::UNPROCESSABLE_ENTITY } else { refusal.status }
    }
}
