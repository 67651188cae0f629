//! The filter of a list of items.

use std::{ops::Range, time::Duration};

use serde::Serialize;
use tributary_functions::{
    http::{Filter, moment_from},
    prelude::*,
};

use crate::model::ProviderId;

const DAY: Duration = Duration::from_hours(24);

/// The most `days` of a window: a hundred years.
const MAX_WINDOW_DAYS: u32 = 36_500;

/// The query parameters of `GET /news/items`, and with `SEARCH` those of `GET /news/search`.
#[derive(Debug, Default, Serialize)]
pub struct NewsFilter<const SEARCH: bool> {
    /// The feed provider of the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<ProviderId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<u32>,
    /// The text that title, content or tags must contain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) q: Option<String>,
}

const PARAMETERS: [QueryParameter; 5] = [
    QueryParameter::new("provider", "The provider of the items.").example("north-wire"),
    QueryParameter::new(
        "from",
        "The begin of the window: an RFC 3339 timestamp, or a date of UTC.",
    )
    .example("2026-11-01"),
    QueryParameter::new("to", "The end of the window, exclusive; now by default.")
        .example("2100-01-01"),
    QueryParameter::new("days", "The window as the last days, 1 to 36,500, instead of `from`.")
        .example("60"),
    QueryParameter::new("q", "2 to 100 characters in title, content or tags, in any case.")
        .example("bridge"),
];

impl<const SEARCH: bool> Filter for NewsFilter<SEARCH> {
    const PARAMETERS: &'static [QueryParameter] =
        if SEARCH { &PARAMETERS } else { PARAMETERS.split_at(4).0 };

    fn set(&mut self, name: &str, value: &str) -> Result<(), ApiError> {
        match name {
            "provider" => {
                let provider = ProviderId::parse(value.to_owned());
                self.provider = Some(provider.map_err(|bad| ApiError::invalid(name, bad.0))?);
            }
            "from" => self.from = Some(moment_from(name, value)?),
            "to" => self.to = Some(moment_from(name, value)?),
            "days" => {
                let days = value.parse().ok().filter(|days| (1..=MAX_WINDOW_DAYS).contains(days));
                let message = || format!("must be a whole number from 1 to {MAX_WINDOW_DAYS}");
                self.days = Some(days.ok_or_else(|| ApiError::invalid(name, message()))?);
            }
            "q" if SEARCH => {
                check_length(value, 2, 100).map_err(|bad| ApiError::invalid(name, bad.0))?;
                self.q = Some(value.to_owned());
            }
            _ => {}
        }
        Ok(())
    }
}

impl<const SEARCH: bool> NewsFilter<SEARCH> {
    /// Returns the window: from the first moment, inclusive, to the second, exclusive.
    pub(super) fn window(&self, now: Timestamp) -> Result<Range<Timestamp>, ApiError> {
        if self.days.is_some() && (self.from.is_some() || self.to.is_some()) {
            return Err(ApiError::invalid("days", "must not stand beside `from` or `to`"));
        }
        let default = if SEARCH { 30 } else { 7 };
        let to = self.to.unwrap_or(now);
        let from = self.from.unwrap_or_else(|| to.before(DAY * self.days.unwrap_or(default)));
        if from >= to {
            return Err(ApiError::invalid("from", "must be before `to`, which is now by default"));
        }
        Ok(from..to)
    }

    /// Returns true if a list with this filter and window can continue after a position.
    ///
    /// A bound that the request names is the same for each page, so a position beyond it belongs to
    /// another list. A bound that follows the clock changes: an item may have left the window since
    /// the page that ended with it. Then the window of each page decides about the items of the page,
    /// and a list whose position has left the window ends.
    pub(super) fn can_continue_after(
        &self,
        window: &Range<Timestamp>,
        SortKey(date, _): &SortKey,
    ) -> bool {
        let is_fixed = self.from.is_some() || self.to.is_some();
        (!is_fixed || window.start <= *date) && self.to.is_none_or(|to| *date <= to)
    }
}
