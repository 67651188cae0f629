//! Positions in the writes of a physical partition, as session tokens of the store have them.

use azure_data_cosmos::options::SessionToken;
use twox_hash::XxHash64;

/// The most bytes of a position: a partition, a version, and progress in some regions.
const MAX_POSITION_BYTES: usize = 200;

/// A container, by a number that is the same in every instance and version of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ContainerTag(pub u32);

impl ContainerTag {
    /// Should two containers have the same tag, a reader of one waits for the writes of the other, too.
    pub(crate) fn of(container: &str) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "32 of 64 bits are enough")]
        Self(XxHash64::oneshot(0, container.as_bytes()) as u32)
    }
}

/// A segment of a session token of the store: `<partition>:<version>#<LSN>#<region>=<LSN>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Position(String);

impl Position {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_known =
            |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'#' | b'=' | b'-');
        let position = Self(text.to_owned());
        let is_valid = text.len() <= MAX_POSITION_BYTES
            && text.bytes().all(is_known)
            && position.partition().parse::<u32>().is_ok()
            && position.number().is_some()
            // The client's own rules: both tokens must be readable.
            && position.token().merge(&position.token()).is_ok();
        is_valid.then_some(position)
    }

    pub(crate) fn partition(&self) -> &str {
        partition_of(&self.0)
    }

    pub(crate) fn lsn(&self) -> u64 {
        self.number().unwrap_or_default()
    }

    fn number(&self) -> Option<u64> {
        let (_, value) = self.0.split_once(':')?;
        let mut parts = value.split('#');
        let first = parts.next()?;
        parts.next().unwrap_or(first).parse().ok()
    }

    fn token(&self) -> SessionToken {
        SessionToken::new(self.0.clone())
    }

    pub(super) fn later(&self, other: &Self) -> Self {
        let merged = self.token().merge(&other.token());
        merged.map_or_else(|_| self.clone(), |token| Self(token.as_str().to_owned()))
    }
}

impl AsRef<str> for Position {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

pub(super) fn partition_of(position: &str) -> &str {
    position.split(':').next().unwrap_or_default()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionPosition {
    pub container: ContainerTag,
    pub position: Position,
    /// The number of the caller's last write, which readers of copies wait for; 0 for the position of a copy.
    pub written: u64,
    /// The number of the last write that an eager projection may not have applied; 0 without one.
    pub unapplied: u64,
}

impl SessionPosition {
    pub(crate) fn written(container: ContainerTag, position: Position) -> Self {
        let lsn = position.lsn();
        Self { container, position, written: lsn, unapplied: lsn }
    }
}
