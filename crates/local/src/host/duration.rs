//! .NET's time spans.

use std::time::Duration;

/// Reads `hh:mm:ss`, optionally with days before and a fraction after: `1.02:03:04.5`.
pub(super) fn parse_time_span(text: &str) -> Option<Duration> {
    let mut parts = text.split(':');
    let hours = parts.next()?;
    let minutes = parts.next()?;
    let seconds = parts.next()?;
    if parts.next().is_some() {
        return None;
    }
    let (days, hours) = match hours.split_once('.') {
        Some((days, hours)) => (number(days, u64::from(u32::MAX))?, number(hours, 23)?),
        None => (0, number(hours, 23)?),
    };
    let (seconds, nanos) = match seconds.split_once('.') {
        Some((seconds, fraction)) if (1..=7).contains(&fraction.len()) => {
            let digits = number(fraction, u64::MAX)?;
            let scale = 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?);
            (number(seconds, 59)?, digits * scale)
        }
        Some(_) => return None,
        None => (number(seconds, 59)?, 0),
    };
    let total = ((days * 24 + hours) * 60 + number(minutes, 59)?) * 60 + seconds;
    Some(Duration::new(total, u32::try_from(nanos).ok()?))
}

fn number(text: &str, maximum: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| digits && *number <= maximum)
}
