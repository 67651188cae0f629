//! A command that puts or deletes one item: the content of the slot under the id, and the next step.
//!
//! A command may find its own write: the response of the store was lost and the command retries, or the host has
//! repeated the request. [`ItemSlot::put`] and [`ItemCommand::delete`](crate::http::ItemCommand::delete)
//! recognise such a write before any condition is checked, since the condition of a command that was carried out
//! holds no longer. The command was carried out, whatever others have written since, if
//!
//! 1. the item, or its tombstone, remembers the command ([`idempotency`](super::idempotency)), or the item keeps
//!    the one that created it;
//! 2. or a response was lost, and the item is as the command creates it, by values that no other command gives,
//!    such as the moment of its creation. This spares an unconditional creation the memory.
//!
//! Otherwise the command decides on the content of the slot. The store refuses the write if the slot has changed.

use std::convert::Infallible;

use super::idempotency::RemembersCommands;
use crate::{
    cosmos::{Attempt, Stored},
    projection::ContainerItem,
    values::CommandId,
};

/// The content of the slot under the id of an item.
#[derive(Debug, Clone)]
pub enum ItemSlot<T, D> {
    /// No item of the type, and no tombstone.
    Empty,
    /// The tombstone of a deleted item.
    Deleted(Stored<D>),
    /// The item.
    Live(Stored<T>),
}

/// The item that a command is to put.
pub trait DesiredItem<T> {
    /// Returns true if an attempt of this command has created the item, even if another has edited it since. An item
    /// with `created_by` is asked itself.
    fn has_created(&self, _item: &T) -> bool {
        false
    }

    /// Returns true if the item is as this command creates it, but for values that other commands change, such as
    /// counts. An item with `created_by` [knows](RemembersCommands::knows) that command, and needs no comparison.
    fn matches_new(&self, _item: &T) -> bool {
        false
    }

    /// Returns true if the item is as the command demands: an edit would change nothing.
    fn is_satisfied_by(&self, _item: &T) -> bool {
        false
    }
}

/// No state is demanded. An item that knows the command in its first version was created by it.
impl<T: ContainerItem> DesiredItem<T> for () {
    fn has_created(&self, item: &T) -> bool {
        item.version() == Some(1)
    }
}

/// An item as a command has put it.
#[derive(Debug)]
pub struct WrittenItem<T> {
    /// The item.
    pub stored: Stored<T>,
    /// True if the command has created the item.
    pub is_new: bool,
}

/// The next step of a command that puts an item.
#[derive(Debug)]
pub enum PutStep<T, D> {
    /// The command was carried out.
    Done(WrittenItem<T>),
    /// There is no item: create it, in the place of its tombstone if there is one.
    Create(Option<Stored<D>>),
    /// There is an item: edit it.
    Edit(Stored<T>),
}

impl<T> WrittenItem<T> {
    /// Creates the outcome of a command that has created the item.
    pub fn created(stored: Stored<T>) -> Self {
        Self { stored, is_new: true }
    }

    /// Creates the outcome of a command that has edited the item.
    pub fn edited(stored: Stored<T>) -> Self {
        Self { stored, is_new: false }
    }
}

impl<T, D> ItemSlot<T, D> {
    /// An item of any other type is as good as none.
    pub(crate) fn from_item<I>(stored: Option<Stored<I>>) -> Self
    where
        T: TryFrom<I, Error = I>,
        D: TryFrom<I>,
    {
        let Some(Stored { item, etag }) = stored else { return Self::Empty };
        match T::try_from(item).map_err(D::try_from) {
            Ok(item) => Self::Live(Stored { item, etag }),
            Err(Ok(item)) => Self::Deleted(Stored { item, etag }),
            Err(Err(_)) => Self::Empty,
        }
    }

    /// Returns the item, if the slot has one.
    pub fn live(self) -> Option<Stored<T>> {
        if let Self::Live(stored) = self { Some(stored) } else { None }
    }
}

impl<T: RemembersCommands, D> ItemSlot<T, D> {
    /// Decides the next step of a command that puts an item into the slot.
    pub fn put(
        self,
        command: &CommandId,
        attempt: Attempt,
        wanted: &impl DesiredItem<T>,
    ) -> PutStep<T, D> {
        match self {
            Self::Live(stored) if stored.item.knows(command) => {
                let is_new =
                    stored.item.was_created_by(command) || wanted.has_created(&stored.item);
                PutStep::Done(WrittenItem { stored, is_new })
            }
            Self::Live(stored) if attempt.answer_lost && wanted.matches_new(&stored.item) => {
                PutStep::Done(WrittenItem::created(stored))
            }
            Self::Live(stored) => PutStep::Edit(stored),
            Self::Deleted(tombstone) => PutStep::Create(Some(tombstone)),
            Self::Empty => PutStep::Create(None),
        }
    }
}

impl<T> From<Option<Stored<T>>> for ItemSlot<T, Infallible> {
    fn from(stored: Option<Stored<T>>) -> Self {
        stored.map_or(Self::Empty, Self::Live)
    }
}
