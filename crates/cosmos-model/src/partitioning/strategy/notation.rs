//! The notation of strategies: `/tenantId,/date by month`.

use std::{fmt, str::FromStr};

use super::{KeyPart, KeyStrategy, StrategyError};
use crate::partitioning::{path::PropertyPath, period::Granularity};

impl FromStr for KeyStrategy {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let mut levels = vec![Vec::new()];
        let mut rest = text;
        loop {
            let (path, after) = PropertyPath::read(rest.trim_start())?;
            let (words, separator) = after.split_at(after.find([',', '+']).unwrap_or(after.len()));
            let part = part(path, words)?;
            if let Some(level) = levels.last_mut() {
                level.push(part);
            }
            match separator.split_at_checked(1) {
                None => return Self::new(levels),
                Some((separator, next)) => {
                    if separator == "," {
                        levels.push(Vec::new());
                    }
                    rest = next;
                }
            }
        }
    }
}

fn part(path: PropertyPath, words: &str) -> Result<KeyPart, StrategyError> {
    let error = || StrategyError::Words(words.trim().to_owned());
    match *words.split_whitespace().collect::<Vec<_>>() {
        [] => Ok(KeyPart::Value(path)),
        ["by", name] => Ok(KeyPart::Period(path, Granularity::from_name(name).ok_or_else(error)?)),
        ["in", n, "bucket" | "buckets"] => {
            Ok(KeyPart::Bucket(path, n.parse().map_err(|_| error())?))
        }
        _ => Err(error()),
    }
}

impl fmt::Display for KeyStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n_level, level) in self.0.iter().enumerate() {
            for (n_part, part) in level.iter().enumerate() {
                f.write_str(match (n_level, n_part) {
                    (0, 0) => "",
                    (_, 0) => ",",
                    _ => "+",
                })?;
                write!(f, "{part}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(path) => write!(f, "{path}"),
            Self::Period(path, granularity) => write!(f, "{path} by {granularity}"),
            Self::Bucket(path, n_buckets) => write!(f, "{path} in {n_buckets} buckets"),
        }
    }
}

impl TryFrom<String> for KeyStrategy {
    type Error = StrategyError;

    fn try_from(text: String) -> Result<Self, StrategyError> {
        text.parse()
    }
}

impl From<KeyStrategy> for String {
    fn from(strategy: KeyStrategy) -> Self {
        strategy.to_string()
    }
}
