//! A source in one state, as the change feed or a query returns it.

use super::{Member, Window};
use crate::{projection::ChangeFeedItem, values::Timestamp};

pub(super) struct SourceState<C> {
    pub(super) id: String,
    pub(super) version: u64,
    /// The creation time; a deleted source has none.
    pub(super) created: Option<Timestamp>,
    pub(super) change: C,
}

impl<C: ChangeFeedItem> SourceState<C> {
    /// Returns the state in a change; `None` when the change is of no source.
    pub(super) fn from_change<W: Window<Change = C>>(change: C) -> Option<Self> {
        let origin = change.origin()?;
        let created = W::source(&change).map(W::creation_date);
        Some(Self { id: origin.name(), version: origin.version, created, change })
    }

    pub(super) fn from_live_change<W: Window<Change = C>>(change: C) -> Option<(Member, Self)> {
        let state = Self::from_change::<W>(change)?;
        Some((state.member()?, state))
    }
}

impl<C> SourceState<C> {
    /// Returns the member that the source would be; `None` when it is deleted.
    pub(super) fn member(&self) -> Option<Member> {
        let creation_date = self.created?;
        Some(Member { creation_date, id: self.id.clone() })
    }
}
