//! Engines: the shared parts of the commands and lists of every domain. An engine knows no domain and no
//! status. It returns a typed outcome, and the command maps that to an answer.
//!
//! | engine | invariant |
//! | --- | --- |
//! | [`child_list`] | a page of children is of a parent that exists, in one query |
//! | [`command`] | a command that puts or deletes one item knows its own write |
//! | [`counted_children`] | a parent counts its children, also when several callers create and delete them at once |
//! | [`idempotency`] | a repeated command is carried out once |
//! | [`name_list`] | a page by name is sorted by code point, in one query |
//! | [`tombstone`] | a deleted item does not come back |
//! | [`unique_claim`] | a value has one owner |

pub mod child_list;
pub mod command;
pub mod counted_children;
pub mod idempotency;
pub mod name_list;
pub mod tombstone;
pub mod unique_claim;
