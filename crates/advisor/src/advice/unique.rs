//! Values that must be unique. The service keeps them so within a logical partition: by a unique key or by the id. Where
//! items with the same values may have different keys, a value needs a *reservation*: an item of its own, whose id and
//! partition key are the value.

use std::{fmt, str::FromStr};

use cosmos_model::{
    charges::rates,
    partitioning::{KeyPart, KeyStrategy, path::PropertyPath},
};
use serde::Serialize;

use crate::{
    request::{RequestKind, RequestOperation},
    words::about,
};

const RESERVATION_BYTES: usize = 256;

/// Paths of one unique key: a limit of the service.
const MAX_UNIQUE_KEY_PATHS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UniqueProperties(pub(crate) Vec<PropertyPath>);

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UniquenessPlan {
    pub(crate) properties: Vec<PropertyPath>,
    /// `None` where the id keeps them unique, or nothing in the container can.
    pub(crate) unique_key: Option<Vec<PropertyPath>>,
    pub(crate) sentence: String,
}

impl UniqueProperties {
    pub(super) fn plan(&self, strategy: &KeyStrategy, requests: &[RequestKind]) -> UniquenessPlan {
        let is_level = |path: &PropertyPath| {
            strategy.levels().iter().any(|level| *level == [KeyPart::Value(path.clone())])
        };
        let rest: Vec<_> = self.0.iter().filter(|path| !is_level(path)).cloned().collect();
        let (unique_key, sentence) = if !strategy.paths().all(|path| self.0.contains(path)) {
            (None, self.reservation(strategy, requests))
        } else if rest == [PropertyPath::from_name("id")] {
            (None, format!("{self} is unique by itself: an id comes once in a logical partition."))
        } else {
            let sentence = format!(
                "{self}: items with the same values are in one logical partition of {strategy}, so a unique key \
                 keeps them unique in the whole container. A second write of them is a 409. The unique key is set \
                 when the container is created and cannot be changed. A missing value counts as a value: one item \
                 of a logical partition may lack it."
            );
            (Some(if rest.is_empty() { self.0.clone() } else { rest }), sentence)
        };
        UniquenessPlan { properties: self.0.clone(), unique_key, sentence }
    }

    fn reservation(&self, strategy: &KeyStrategy, requests: &[RequestKind]) -> String {
        let creates =
            requests.iter().filter(|request| request.operation == RequestOperation::Create);
        let per_day: f64 = creates.filter_map(RequestKind::per_day).sum();
        let each = rates::write(RESERVATION_BYTES);
        let a_day = match per_day {
            0.0 => String::new(),
            per_day => format!(", {} RU a day for the creates", about(per_day * each)),
        };
        format!(
            "{self}: with {strategy} a unique key would hold within each logical partition only, and the same value \
             could come again under another key. Reserve it: a container by the value, whose id is the value too, \
             in which an item is created before the item that has it, and deleted after it. A reservation costs \
             {each:.1} RU{a_day}, and two writes that are no transaction: an item without its reservation, or \
             the other way round, has to be found and repaired."
        )
    }
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
        let paths = text.replace(",/", "\n/");
        let paths: Result<Vec<PropertyPath>, _> = paths.split('\n').map(str::parse).collect();
        let paths = paths.map_err(|error| error.to_string())?;
        match paths.len() {
            0..=MAX_UNIQUE_KEY_PATHS => Ok(Self(paths)),
            n => Err(format!(
                "a unique key has at most {MAX_UNIQUE_KEY_PATHS} properties, and this has {n}"
            )),
        }
    }
}
