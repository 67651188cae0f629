//! The notation of strategies: `/tenantId,/date by month`.

use std::{fmt, str::FromStr};

use super::{KeyPart, KeyStrategy, StrategyError, class::KeyClass};
use crate::partitioning::{path::PropertyPath, period::Granularity};

impl FromStr for KeyStrategy {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let mut levels = vec![Vec::new()];
        let mut rest = text;
        loop {
            let (path, after) = PropertyPath::read(rest.trim_start())?;
            let (words, separator) = match after.find([',', '+', ';']) {
                Some(end) => (&after[..end], Some(after.split_at(end).1)),
                None => (after, None),
            };
            let part = part(path, words)?;
            if let Some(level) = levels.last_mut() {
                level.push(part);
            }
            let Some(separator) = separator else { return Self::new(levels) };
            if separator.starts_with(',') {
                levels.push(Vec::new());
            }
            if let Some(class) = separator.strip_prefix(';') {
                let class = KeyClass::read(class, levels.clone())?;
                return Ok(Self { class: Some(Box::new(class)), ..Self::new(levels)? });
            }
            rest = &separator[1..];
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
        for (n_level, level) in self.levels.iter().enumerate() {
            for (n_part, part) in level.iter().enumerate() {
                f.write_str(match (n_level, n_part) {
                    (0, 0) => "",
                    (_, 0) => ",",
                    _ => "+",
                })?;
                write!(f, "{part}")?;
            }
        }
        match &self.class {
            Some(class) => write!(f, "; {class}"),
            None => Ok(()),
        }
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
