//! Values that must be unique, and the means of a container to keep them unique.
//!
//! The service keeps values unique within a logical partition: by a unique key of the container, which is
//! set when the container is created and never after, or by the id. Where items with the same values always
//! have the same partition key, that is enough for the whole container. Otherwise a value needs a
//! *reservation*: an item of its own, whose id and partition key are the value.

use std::{fmt, str::FromStr};

use cosmos_model::charges::rates;
use cosmos_model::partitioning::{KeyPart, KeyStrategy, path::PropertyPath};
use serde::{Deserialize, Serialize};

use crate::request::{RequestKind, RequestOperation};

/// The size of a reservation: two ids and a time.
const RESERVATION_BYTES: usize = 256;

/// Paths of one unique key: a limit of the service.
const MAX_UNIQUE_KEY_PATHS: usize = 16;

/// Properties whose values together come once in the container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UniqueProperties(Vec<PropertyPath>);

/// The means by which a container with a key keeps values unique.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UniquenessPlan {
    /// The properties.
    pub properties: UniqueProperties,
    /// The paths of the unique key that keeps them unique. `None` where the id does, or nothing in the
    /// container can.
    pub unique_key: Option<Vec<PropertyPath>>,
    /// The consequences, as sentences.
    pub sentence: String,
}

impl UniqueProperties {
    /// Returns the properties.
    pub fn paths(&self) -> &[PropertyPath] {
        &self.0
    }
}

impl UniquenessPlan {
    /// Returns the means of a container with this key to keep these values unique, and their costs.
    pub(super) fn new(
        unique: &UniqueProperties,
        strategy: &KeyStrategy,
        requests: &[RequestKind],
    ) -> Self {
        let tells = |part: &KeyPart| unique.0.contains(part.path());
        let with = |unique_key, sentence| Self { properties: unique.clone(), unique_key, sentence };
        if !strategy.levels().iter().flatten().all(tells) {
            return with(None, reservation(unique, strategy, requests));
        }
        let is_key = |path: &&PropertyPath| {
            strategy.levels().iter().any(|level| *level == [KeyPart::Value((*path).clone())])
        };
        let rest: Vec<PropertyPath> =
            unique.0.iter().filter(|path| !is_key(path)).cloned().collect();
        if rest == [PropertyPath::from_name("id")] {
            let sentence =
                format!("{unique} is unique by itself: an id comes once in a logical partition.");
            return with(None, sentence);
        }
        let paths = if rest.is_empty() { unique.0.clone() } else { rest };
        let sentence = format!(
            "{unique}: items with the same values are in one logical partition of {strategy}, so a unique key keeps \
             them unique in the whole container. A second write of them is a 409. The unique key is set when the \
             container is created and cannot be changed. A missing value counts as a value: one item of a logical \
             partition may lack it."
        );
        with(Some(paths), sentence)
    }
}

fn reservation(
    unique: &UniqueProperties,
    strategy: &KeyStrategy,
    requests: &[RequestKind],
) -> String {
    let creates = requests.iter().filter(|request| request.operation == RequestOperation::Create);
    let per_day: f64 = creates.filter_map(RequestKind::per_day).sum();
    let each = rates::write(RESERVATION_BYTES);
    let a_day = if per_day > 0.0 {
        format!(", {} RU a day for the creates", crate::words::about(per_day * each))
    } else {
        String::new()
    };
    format!(
        "{unique}: with {strategy} a unique key would hold within each logical partition only, and the same value \
         could come again under another key. Reserve it: a container by the value, whose id is the value too, in \
         which an item is created before the item that has it, and deleted after it. A reservation costs {each:.1} RU \
         each{a_day}, and two writes that are no transaction: an item without its reservation, or the other way \
         round, has to be found and repaired."
    )
}

impl fmt::Display for UniqueProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&paths.join(","))
    }
}

impl FromStr for UniqueProperties {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No sensible name has a comma that is followed by a slash.
        let paths = text.split(",/").enumerate().map(|(n, path)| match n {
            0 => path.parse(),
            _ => format!("/{path}").parse(),
        });
        let paths: Vec<PropertyPath> = paths
            .collect::<Result<_, _>>()
            .map_err(|error: cosmos_model::partitioning::path::ParsePathError| error.to_string())?;
        if paths.len() > MAX_UNIQUE_KEY_PATHS {
            return Err(format!(
                "a unique key has at most {MAX_UNIQUE_KEY_PATHS} properties, and this has {}",
                paths.len()
            ));
        }
        Ok(Self(paths))
    }
}

impl TryFrom<String> for UniqueProperties {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<UniqueProperties> for String {
    fn from(unique: UniqueProperties) -> Self {
        unique.to_string()
    }
}
