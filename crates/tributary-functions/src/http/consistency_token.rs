//! Consistency tokens: the writes of a caller, in the form in which the caller brings them back.
//!
//! The text behind base64url is `1,<seconds since 1970>`, then `,<container>/<position>` for each physical
//! partition, the newest first. A container is a number that only the app knows ([`ContainerTag`]); a
//! position is that of the store ([`Position`]), which counts the writes of a physical partition. There is
//! no name, id or key of an item, user or tenant in it.
//!
//! # Why a forged token does no harm
//!
//! A token has no signature, as a cursor has none: a function app has no secret that all its instances
//! share, and a token opens nothing. Its form, length, age and number of positions are checked. Then each
//! position
//!
//! 1. makes reads of its caller newer. One that no write has had is refused by the store (1002), and the
//!    latest committed state answers, for twice the request units;
//! 2. lets its caller wait for a projection, outside of the admission control, for a bounded time, among a
//!    bounded number of such callers.
//!
//! What other callers see and pay stays the same: neither the position nor the store's refusal of it is noted
//! by the instance.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};

use crate::{
    cosmos::{ContainerTag, Position, Session},
    values::Timestamp,
};

/// The longest token, in characters.
pub(super) const MAX_TOKEN_CHARACTERS: usize = 1_024;

/// The most bytes of its text, of which base64 makes four characters of three.
const MAX_TEXT_BYTES: usize = MAX_TOKEN_CHARACTERS / 4 * 3;

const VERSION: &str = "1";

/// Returns the token of a session. The oldest positions are left out when it would be too long: it knows
/// the last writes of its caller in some 20 physical partitions.
pub(super) fn write(session: &Session, now: Timestamp) -> String {
    let mut text = format!("{VERSION},{}", now.unix_seconds());
    for (ContainerTag(container), position) in session.positions() {
        let entry = format!(",{container:x}/{}", position.as_ref());
        if text.len() + entry.len() > MAX_TEXT_BYTES {
            break;
        }
        text += &entry;
    }
    BASE64_URL_SAFE_NO_PAD.encode(text)
}

/// Reads a token. One that is older than `max_age` has no positions; `None` if it is none, or of the future.
pub(super) fn read(token: &str, now: Timestamp, max_age: Duration) -> Option<Session> {
    if token.len() > MAX_TOKEN_CHARACTERS {
        return None;
    }
    let text = String::from_utf8(BASE64_URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let mut parts = text.split(',');
    if parts.next() != Some(VERSION) {
        return None;
    }
    let issued: i64 = parts.next()?.parse().ok()?;
    let mut session = Session::default();
    for entry in parts {
        let (container, position) = entry.split_once('/')?;
        let container = u32::from_str_radix(container, 16).ok()?;
        session.add(ContainerTag(container), Position::parse(position)?);
    }
    let age = now.unix_seconds().checked_sub(issued)?;
    let max_age = i64::try_from(max_age.as_secs()).unwrap_or(i64::MAX);
    // The clocks of two instances differ by some seconds.
    if age < -max_age {
        return None;
    }
    // guard: consistency: an old token asks for nothing => `Some(session)`
    Some(if age > max_age { Session::default() } else { session })
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const MAX_AGE: Duration = Duration::from_mins(15);

    fn position(text: &str) -> Position {
        Position::parse(text).unwrap()
    }

    #[test]
    fn a_token_is_read_as_it_was_written() {
        let mut session = Session::default();
        session.add(ContainerTag::of("rooms"), position("3:1#1200#0=1200"));
        session.add(ContainerTag::of("people"), position("0:-1#7"));
        let now = Timestamp::now();
        let token = write(&session, now);
        assert_eq!(read(&token, now, MAX_AGE), Some(session));
        let early = Timestamp::from_unix_seconds(now.unix_seconds() - 20 * 60).unwrap();
        assert_eq!(read(&token, early, MAX_AGE), None, "it is of the future");
    }

    proptest! {
        #[test]
        fn a_token_of_any_number_of_writes_is_short_and_keeps_the_newest(
            writes in vec((0u32..5, 0u32..60, 0i64..i64::MAX), 1..200),
        ) {
            let mut session = Session::default();
            for (container, partition, lsn) in writes {
                let position = position(&format!("{partition}:1#{lsn}#0={lsn}"));
                session.add(ContainerTag(container), position);
            }
            let now = Timestamp::now();
            let token = write(&session, now);
            prop_assert!(token.len() <= MAX_TOKEN_CHARACTERS);
            let read = read(&token, now, MAX_AGE).unwrap();
            let kept = read.positions().count();
            prop_assert!(kept >= session.positions().count().min(12));
            prop_assert!(read.positions().eq(session.positions().take(kept)));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[0-9a-f,/:#=-]{0,300}|.{0,300}") {
            let now = Timestamp::now();
            let _ = read(&text, now, MAX_AGE);
            let _ = read(&BASE64_URL_SAFE_NO_PAD.encode(&text), now, MAX_AGE);
            let _ = read(&BASE64_URL_SAFE_NO_PAD.encode(format!("1,0,{text}")), now, MAX_AGE);
        }
    }
}
