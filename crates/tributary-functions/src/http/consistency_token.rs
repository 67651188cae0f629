//! Consistency tokens: the writes of a caller, in the form in which the caller brings them back.
//!
//! The text behind base64url is `1,<seconds since 1970>`, then `,<container>/<position>` for each physical
//! partition, the newest first. A container is a number that only the app knows ([`ContainerTag`]); a position is
//! that of the store ([`Position`]). There is no name, id or key of an item, user or tenant in it.
//!
//! Where eager projections have applied some of the writes, the text is `2,<seconds since 1970>,<projections>`,
//! and positions may have two more numbers ([`SessionPosition`]): `/<unapplied>`, or `/<unapplied>/<written>`
//! where the second is not that of the position. `<projections>` is the number of the set for which they hold
//! (`EagerProjections::tag`): an instance with another set takes all writes for unapplied. A token that would be
//! too long has the first form.
//!
//! # Why a forged token does no harm
//!
//! A token has no signature: a function app has no secret that all its instances share, and a token opens
//! nothing. Its form, length, age and number of positions are checked. Then each position
//!
//! 1. makes reads of its caller newer. One that no write has had is refused by the store (1002), and the latest
//!    committed state answers, for twice the request units;
//! 2. lets its caller wait for a projection, outside of the admission control, for a bounded time and within the
//!    request's budget (`projection::catch_up`).
//!
//! What other callers see and pay stays the same: neither the position nor the store's refusal of it is noted by
//! the instance.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{
    cosmos::{ContainerTag, Position, Session, SessionPosition},
    values::Timestamp,
};

pub(super) const MAX_TOKEN_CHARACTERS: usize = 1_024;

/// The most bytes of its text, of which base64 makes four characters of three.
const MAX_TEXT_BYTES: usize = MAX_TOKEN_CHARACTERS / 4 * 3;

/// Returns the token of a session, whose numbers hold for the eager projections with this tag. The oldest
/// positions are left out when it would be too long: it knows the last writes of its caller in some 20 physical
/// partitions.
pub(super) fn write(session: &Session, eager: u32, now: Timestamp) -> String {
    let seconds = now.unix_seconds();
    let full = session.positions().map(entry);
    let is_plain = session.clone().unapplied() == *session
        && session.positions().all(|position| position.written == position.position.lsn());
    let full = full.fold(format!("2,{seconds},{eager:x}"), |text, entry| text + &entry);
    if !is_plain && full.len() <= MAX_TEXT_BYTES {
        return BASE64_URL_SAFE_NO_PAD.encode(full);
    }
    let mut text = format!("1,{seconds}");
    // The position of a copy takes no place of a write.
    let writes = session.positions().filter(|position| position.written > 0);
    for position in writes {
        let entry = plain_entry(position);
        if text.len() + entry.len() > MAX_TEXT_BYTES {
            break;
        }
        text += &entry;
    }
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

fn plain_entry(SessionPosition { container, position, .. }: &SessionPosition) -> String {
    format!(",{:x}/{}", container.0, position.as_ref())
}

fn entry(position: &SessionPosition) -> String {
    let plain = plain_entry(position);
    let SessionPosition { written, unapplied, .. } = *position;
    let lsn = position.position.lsn();
    match (written == lsn, unapplied == lsn) {
        (true, true) => plain,
        (true, false) => format!("{plain}/{unapplied}"),
        (false, _) => format!("{plain}/{unapplied}/{written}"),
    }
}

fn read_entry(entry: &str) -> Option<SessionPosition> {
    let mut parts = entry.split('/');
    let container = ContainerTag(u32::from_str_radix(parts.next()?, 16).ok()?);
    let mut read = SessionPosition::written(container, Position::parse(parts.next()?)?);
    if let Some(unapplied) = parts.next() {
        read.unapplied = unapplied.parse().ok()?;
    }
    if let Some(written) = parts.next() {
        read.written = written.parse().ok()?;
    }
    parts.next().is_none().then_some(read)
}

/// Reads a token, for an instance with these eager projections. One that is older than `max_age` has no
/// positions; `None` if it is none, or of the future.
pub(super) fn read(token: &str, eager: u32, now: Timestamp, max_age: Duration) -> Option<Session> {
    if token.len() > MAX_TOKEN_CHARACTERS {
        return None;
    }
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let mut parts = text.split(',');
    let version = parts.next()?;
    let issued: i64 = parts.next()?.parse().ok()?;
    let of = match version {
        "1" => None,
        "2" => Some(u32::from_str_radix(parts.next()?, 16).ok()?),
        _ => return None,
    };
    let mut session = Session::default();
    for entry in parts {
        session.add(read_entry(entry)?);
    }
    if of != Some(eager) {
        session = session.unapplied();
    }
    let age = now.unix_seconds().checked_sub(issued)?;
    let max_age = i64::try_from(max_age.as_secs()).unwrap_or(i64::MAX);
    // The clocks of two instances differ by some seconds.
    if age < -max_age {
        return None;
    }
    Some(if age > max_age { Session::default() } else { session })
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const MAX_AGE: Duration = Duration::from_mins(15);
    const EAGER: u32 = 7;

    fn written(container: &str, text: &str) -> SessionPosition {
        SessionPosition::written(ContainerTag::of(container), position(text))
    }

    fn position(text: &str) -> Position {
        Position::parse(text).unwrap()
    }

    #[test]
    fn what_is_applied_holds_for_the_same_eager_projections_only() {
        let mut session = Session::default();
        session.add(SessionPosition { unapplied: 0, ..written("rooms", "3:1#1200#0=1200") });
        session.add(SessionPosition { unapplied: 5, written: 6, ..written("people", "0:-1#7") });
        session.add(SessionPosition { unapplied: 0, written: 0, ..written("feed", "0:-1#9") });
        session.add(written("people", "1:-1#7"));
        let now = Timestamp::now();
        let token = write(&session, EAGER, now);
        assert_eq!(read(&token, EAGER, now, MAX_AGE), Some(session.clone()));
        assert_eq!(read(&token, EAGER + 1, now, MAX_AGE), Some(session.unapplied()));
        let early = Timestamp::from_unix_seconds(now.unix_seconds() - 20 * 60).unwrap();
        assert_eq!(read(&token, EAGER, early, MAX_AGE), None, "it is of the future");
    }

    proptest! {
        #[test]
        fn a_token_of_any_number_of_writes_is_short_and_keeps_the_newest(
            writes in vec((0u32..5, 0u32..60, 0i64..i64::MAX, 0..3u8), 1..200),
        ) {
            let mut session = Session::default();
            for (container, partition, lsn, kind) in writes {
                let position = position(&format!("{partition}:1#{lsn}#0={lsn}"));
                let mut position = SessionPosition::written(ContainerTag(container), position);
                match kind {
                    0 => {}
                    1 => position.unapplied = 0,
                    _ => (position.written, position.unapplied) = (0, 0),
                }
                session.add(position);
            }
            let now = Timestamp::now();
            let token = write(&session, EAGER, now);
            prop_assert!(token.len() <= MAX_TOKEN_CHARACTERS);
            let read = read(&token, EAGER, now, MAX_AGE).unwrap();
            if read == session {
                return Ok(());
            }
            // Each wait of the newest writes is there, and nothing is taken for applied.
            let writes: Vec<_> = session.positions().filter(|position| position.written > 0).collect();
            let kept = read.positions().count();
            prop_assert!(kept >= writes.len().min(12));
            for (read, write) in read.positions().zip(writes) {
                prop_assert_eq!(&read.position, &write.position);
                prop_assert!(read.written >= write.written && read.unapplied == read.written);
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-f,/:#=-]{0,300}|.{0,300}") {
            let now = Timestamp::now();
            let _ = read(&text, EAGER, now, MAX_AGE);
            let _ = read(&BASE64_URL_SAFE_NO_PAD.encode(&text), EAGER, now, MAX_AGE);
            for begin in ["1,0,", "2,0,7,"] {
                let text = BASE64_URL_SAFE_NO_PAD.encode(format!("{begin}{text}"));
                let _ = read(&text, EAGER, now, MAX_AGE);
            }
        }
    }
}
