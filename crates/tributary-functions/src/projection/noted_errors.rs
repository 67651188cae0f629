//! The errors of single items, noted while the others go on.

use crate::cosmos::StoreError;

/// The error that stands for those of several items, of which none stops the others.
///
/// A permanent error gives way to any other: it makes a dead letter of the change, and an item that
/// failed for the moment would then wait for the replay.
#[derive(Debug, Default)]
pub struct NotedErrors {
    error: Option<StoreError>,
    count: usize,
}

impl NotedErrors {
    /// Returns a value, or notes the error.
    pub fn note<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                if self.error.as_ref().is_none_or(StoreError::is_permanent) {
                    self.error = Some(error);
                }
                self.count += 1;
                None
            }
        }
    }

    /// Returns a value, or notes the error if it is about this item alone: a lost race, or a permanent
    /// one. Any other would meet the next item, too.
    pub fn pass_over<T>(&mut self, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match result {
            Err(error) if !error.is_race() && !error.is_permanent() => Err(error),
            result => Ok(self.note(result)),
        }
    }

    /// Returns how many errors were noted.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Fails with the noted error, if there is one.
    pub fn into_result(self) -> Result<(), StoreError> {
        self.error.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosmos::Reason;

    #[test]
    fn an_error_that_may_pass_is_told_before_one_that_stays() {
        let (race, unreadable) = (StoreError::race(false), StoreError::unreadable());
        for errors in [[&race, &unreadable], [&unreadable, &race]] {
            let mut noted = NotedErrors::default();
            assert_eq!(noted.note(Ok(1)), Some(1));
            for error in errors {
                assert_eq!(noted.note::<()>(Err(error.clone())), None);
            }
            let reason = noted.into_result().unwrap_err().reason;
            assert_eq!(reason, Reason::PreconditionFailed);
        }
        assert!(NotedErrors::default().into_result().is_ok());
    }
}
