//! The errors of single items, noted while the work on others continues.

use crate::cosmos::StoreError;

/// The errors of several items, none of which stops the others. One of them is kept as the result.
///
/// A transient error replaces a permanent one: a permanent result makes a dead letter of the change, and the
/// items that failed for the moment would then wait for its replay.
#[derive(Debug, Default)]
pub(crate) struct NotedErrors {
    error: Option<StoreError>,
    count: usize,
}

impl NotedErrors {
    pub(crate) fn note<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
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

    /// Returns a value, or notes the error if it concerns this item alone: a lost race, or a permanent error.
    /// Fails with any other error, which the next item would meet, too.
    pub(crate) fn pass_over<T>(
        &mut self,
        result: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match result {
            Err(error) if !error.is_race() && !error.is_permanent() => Err(error),
            result => Ok(self.note(result)),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn into_result(self) -> Result<(), StoreError> {
        self.error.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cosmos::Reason;

    #[test]
    fn an_error_that_may_pass_is_told_before_one_that_stays() {
        let race = StoreError::race(false);
        let unreadable = StoreError::unreadable();
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
