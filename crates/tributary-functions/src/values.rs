//! Values that every domain shares: timestamps, checked text, JSON objects with limits.
//!
//! A value of such a type is valid: it is parsed where it enters the app, and the code inside trusts it.

mod item_types;
mod json_object;

use std::{
    fmt,
    ops::RangeInclusive,
    sync::atomic::{AtomicI64, Ordering},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::{
    OffsetDateTime, UtcOffset,
    format_description::well_known::Rfc3339,
    macros::{datetime, format_description},
};
use uuid::Uuid;

pub use self::{item_types::Unboxed, json_object::JsonObject};
pub(crate) use json_object::compact_bytes;

/// The id of a command: the same for each attempt at it, and each repetition by the host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommandId(String);

impl CommandId {
    /// The time in which a repetition of a command may still be answered. Azure answers the caller of an
    /// HTTP-triggered function within 230 s, whatever the host still does; the clocks of two instances differ by less
    /// than ten seconds.
    pub(crate) const REPEATED_FOR: Duration = Duration::from_mins(4);

    /// Creates the id of a text: 48 bits of its hash. Short ids are enough, since each is stored, and the
    /// commands on one item are few.
    pub fn from_text(text: &str) -> Self {
        let hash = Uuid::new_v5(&Uuid::NAMESPACE_OID, text.as_bytes());
        Self(BASE64_URL_SAFE_NO_PAD.encode(&hash.as_bytes()[10..]))
    }

    /// Returns the id of a part of this command.
    pub fn part(&self, index: usize) -> Self {
        Self::from_text(&format!("{} {index}", self.0))
    }

    /// Creates an id that no other command has.
    pub fn fresh() -> Self {
        Self::from_text(&fresh_id())
    }
}

pub(crate) fn fresh_id() -> String {
    Uuid::now_v7().to_string()
}

const MAX_STORED_ID_BYTES: usize = 1_023;

/// The reason for which a text is no value of a type, in words for the caller: "must be …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(pub String);

impl From<&str> for Invalid {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

/// A moment in UTC with milliseconds, written as RFC 3339 with exactly three fraction digits, so the order of the
/// text is that of time. It is read from any RFC 3339 text, since a Functions host may rewrite it (`.120Z` becomes
/// `.12Z`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(OffsetDateTime);

impl Timestamp {
    /// The first moment of 1970.
    pub const EPOCH: Self = Self(OffsetDateTime::UNIX_EPOCH);

    pub(crate) const MAX: Self = Self(datetime!(9999-12-31 23:59:59.999 UTC));

    pub(crate) const LENGTH: usize = 24;

    /// Returns the current time.
    pub fn now() -> Self {
        Self::truncate(OffsetDateTime::now_utc())
    }

    /// Parses an RFC 3339 text with any offset. Digits below a millisecond are cut off.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        OffsetDateTime::parse(text, &Rfc3339)
            .ok()
            .and_then(|moment| moment.checked_to_offset(UtcOffset::UTC))
            .filter(|moment| (0..=9999).contains(&moment.year()))
            .map(Self::truncate)
            .ok_or_else(|| "must be an RFC 3339 timestamp".into())
    }

    /// Returns the moment this many seconds after the beginning of 1970; `None` if it is out of range.
    pub fn from_unix_seconds(seconds: i64) -> Option<Self> {
        OffsetDateTime::from_unix_timestamp(seconds).ok().map(Self)
    }

    /// Returns the milliseconds from `earlier` to this moment; zero if `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from((self.0 - earlier.0).whole_milliseconds()).unwrap_or(0)
    }

    pub(crate) fn unix_seconds(self) -> i64 {
        self.0.unix_timestamp()
    }

    /// Returns the next moment: a millisecond later.
    pub fn next(self) -> Self {
        self.0.checked_add(time::Duration::MILLISECOND).map_or(self, Self)
    }

    /// Returns the moment that is earlier by `duration`; the first of 1970 if there is none.
    pub fn before(self, duration: Duration) -> Self {
        let earlier = time::Duration::try_from(duration).ok().and_then(|d| self.0.checked_sub(d));
        earlier.filter(|moment| moment.year() >= 0).map_or(Self::EPOCH, Self::truncate)
    }

    /// Returns the moment that is later by `duration`; the last of year 9999 if there is none.
    pub fn after(self, duration: Duration) -> Self {
        let later = time::Duration::try_from(duration).ok().and_then(|d| self.0.checked_add(d));
        later.map_or(Self::MAX, Self::truncate)
    }

    /// Returns this moment so many years earlier (28 February for 29), or the first one of 1970.
    pub fn years_before(self, years: u16) -> Self {
        let year = self.0.year() - i32::from(years);
        let same_day = self.0.replace_year(year);
        let earlier = same_day.or_else(|_| self.0.replace_day(28)?.replace_year(year));
        earlier.ok().filter(|moment| moment.year() >= 0).map_or(Self::EPOCH, Self)
    }

    fn truncate(moment: OffsetDateTime) -> Self {
        let nanosecond = moment.nanosecond() / 1_000_000 * 1_000_000;
        Self(moment.replace_nanosecond(nanosecond).unwrap_or(moment))
    }
}

impl From<OffsetDateTime> for Timestamp {
    fn from(moment: OffsetDateTime) -> Self {
        let moment = moment.checked_to_offset(UtcOffset::UTC);
        moment.filter(|moment| moment.year() >= 0).map_or(Self::EPOCH, Self::truncate)
    }
}

impl From<Timestamp> for OffsetDateTime {
    fn from(moment: Timestamp) -> Self {
        moment.0
    }
}

/// The clock of an app. Tests set a clock ahead, and simulations have one that runs faster.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clock(Pace);

#[derive(Debug, Clone, Copy, Default)]
enum Pace {
    #[default]
    Real,
    Ahead(&'static AtomicI64),
    Faster {
        since: Timestamp,
        times: u32,
    },
}

impl Clock {
    /// Creates a clock that is ahead by the current value of `seconds`.
    pub fn ahead_by(seconds: &'static AtomicI64) -> Self {
        Self(Pace::Ahead(seconds))
    }

    /// Clocks with the same values agree, in all processes.
    pub(crate) fn faster(times: u32, since: Timestamp) -> Self {
        Self(Pace::Faster { since, times })
    }

    pub(crate) fn is_simulated(self) -> bool {
        !matches!(self.0, Pace::Real)
    }

    /// Returns the current time of the clock.
    pub fn now(self) -> Timestamp {
        let now = Timestamp::now();
        match self.0 {
            Pace::Real => now,
            Pace::Ahead(seconds) => {
                let ahead = u64::try_from(seconds.load(Ordering::Relaxed)).unwrap_or(0);
                now.after(Duration::from_secs(ahead))
            }
            Pace::Faster { since, times } => {
                let passed = now.millis_since(since).saturating_mul(u64::from(times));
                if now < since { now } else { since.after(Duration::from_millis(passed)) }
            }
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = format_description!(
            "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z"
        );
        f.write_str(&self.0.format(format).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

text_schema!(Timestamp, "format": "date-time", "examples": ["2026-11-21T09:25:54.120Z"]);

pub(crate) fn check_id(text: &str) -> Result<(), Invalid> {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    let begins_well = text.starts_with(|first: char| first.is_ascii_alphanumeric());
    if begins_well && text.len() <= 128 && text.bytes().all(allowed) {
        return Ok(());
    }
    Err("must be 1 to 128 letters, digits, '.', '_' or '-', and begin with a letter or a digit"
        .into())
}

/// At most 1,023 bytes, without control characters, `/`, `\`, `?` and `#`.
pub(crate) fn stored_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_bad = |c: char| c.is_control() || matches!(c, '/' | '\\' | '?' | '#');
    if text.len() > MAX_STORED_ID_BYTES || text.contains(is_bad) {
        return Err(de::Error::custom("must be an id of the store"));
    }
    Ok(text)
}

/// Checks the length of a text in Unicode code points.
pub fn check_length(text: &str, min: usize, max: usize) -> Result<(), Invalid> {
    let length = text.chars().take(max + 1).count();
    let is_good = (min..=max).contains(&length);
    is_good.then_some(()).ok_or_else(|| Invalid(format!("must be {min} to {max} characters long")))
}

/// Applies the rule of an id that a caller chose: `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`. For [`checked_text!`].
pub fn id_rule(text: String) -> Result<String, Invalid> {
    check_id(&text).map(|()| text)
}

/// Returns the rule of a length in Unicode code points ([`check_length`]), for [`checked_text!`].
pub fn length_rule(length: RangeInclusive<usize>) -> impl Fn(String) -> Result<String, Invalid> {
    move |text| check_length(&text, *length.start(), *length.end()).map(|()| text)
}

/// Defines types for checked text. Each is a newtype over `String` whose `parse` applies a rule; JSON that
/// breaks the rule is refused, too. OpenAPI shows the example, and keywords of its schema where there are any, such as
/// `"format": "email"`. The crate that uses the macro depends on
/// `serde`.
///
/// ```
/// use tributary_functions::values::{checked_text, id_rule, length_rule};
///
/// checked_text!(
///     /// The id of a room.
///     RoomId, "blue", id_rule;
///
///     /// The name of a room: 1 to 100 characters.
///     RoomName, "The blue room", length_rule(1..=100);
/// );
/// ```
#[macro_export]
macro_rules! checked_text {
    ($($(#[$doc:meta])* $name:ident, $example:literal, $rule:expr $(, $keyword:literal: $value:tt)*);+ $(;)?) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String")]
        #[allow(unreachable_pub, reason = "in a private module")]
        pub struct $name(String);

        #[allow(unreachable_pub, reason = "in a private module")]
        impl $name {
            /// Parses a text, by the rule of the type.
            pub fn parse(text: String) -> Result<Self, $crate::values::Invalid> {
                $crate::values::apply_rule($rule, text).map(Self)
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::values::Invalid;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(text)
            }
        }

        $crate::values::text_schema!($name $(, $keyword: $value)*, "examples": [$example]);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    )+};
}
pub use crate::checked_text;

/// Applies a rule. The signature gives a closure its types.
#[doc(hidden)]
pub fn apply_rule(
    rule: impl FnOnce(String) -> Result<String, Invalid>,
    text: String,
) -> Result<String, Invalid> {
    rule(text)
}

/// The crate that `text_schema!` uses.
#[doc(hidden)]
pub use schemars;

/// Implements the JSON schema of a type that is written as a string, with further keywords:
/// `text_schema!(Moment, "format": "date-time", "examples": ["2026-11-21T09:25:54Z"])`.
#[macro_export]
macro_rules! text_schema {
    ($name:ident $(, $keyword:literal: $value:tt)*) => {
        impl $crate::values::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut $crate::values::schemars::SchemaGenerator) -> $crate::values::schemars::Schema {
                $crate::values::schemars::json_schema!({"type": "string" $(, $keyword: $value)*})
            }
        }
    };
}
pub use crate::text_schema;

pub use crate::item_types;

/// Returns true if the Functions host may have rewritten this text on its way through a trigger: without
/// `dateParseHandling: None` in host.json, it rewrites every string that Newtonsoft.Json takes for a date, as
/// `yyyy-MM-ddTHH:mm:ss` with up to seven fraction digits and `Z`, an offset or nothing. A projection that copies
/// such a text reads it again.
pub fn may_be_rewritten_by_host(text: &str) -> bool {
    (17..=45).contains(&text.len())
        && text.as_bytes().get(10) == Some(&b'T')
        && text.as_bytes()[..4].iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_timestamp_always_has_three_fraction_digits() {
        for (text, written) in [
            ("2026-11-21T09:25:54.12Z", "2026-11-21T09:25:54.120Z"),
            ("2026-11-21T09:25:54Z", "2026-11-21T09:25:54.000Z"),
            ("2026-11-21T10:25:54.1239+01:00", "2026-11-21T09:25:54.123Z"),
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), written);
        }
    }

    #[test]
    fn a_clock_that_runs_faster_begins_where_it_was_set() {
        let hour = Duration::from_hours(1);
        let since = Timestamp::now().before(hour);
        let now = Clock::faster(24, since).now();
        assert!(now >= since.after(24 * hour) && now < since.after(25 * hour), "{now}");
        let later = Timestamp::now().after(hour);
        assert!(Clock::faster(24, later).now() < later, "it has not begun");
    }

    #[test]
    fn ids_follow_the_rule_of_the_api() {
        let longest = "a".repeat(128);
        for id in ["a", "0", "A.b_c-d", longest.as_str()] {
            assert!(check_id(id).is_ok(), "{id}");
        }
        let too_long = "a".repeat(129);
        for id in ["", ".a", "-a", "_a", "a/b", "a b", "ä", "a:b", "a~b", too_long.as_str()] {
            assert!(check_id(id).is_err(), "{id}");
        }
    }

    proptest! {
        #[test]
        fn text_order_is_time_order(a in 0i64..253_402_300_799_000, b in 0i64..253_402_300_799_000) {
            let at = |millis: i64| {
                let nanos = i128::from(millis) * 1_000_000;
                Timestamp::truncate(OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap())
            };
            prop_assert_eq!(at(a).to_string().cmp(&at(b).to_string()), a.cmp(&b));
            prop_assert_eq!(Timestamp::parse(&at(a).to_string()).unwrap(), at(a));
            prop_assert_eq!(at(a).to_string().len(), Timestamp::LENGTH);
        }
    }
}
