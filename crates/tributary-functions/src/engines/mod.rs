//! Engines: the shared parts of the commands and lists of every domain. An engine knows no domain and no
//! status. It returns a typed outcome, and the command maps that to an answer.
//!
//! | engine | invariant |
//! | --- | --- |
//! | [`child_list`] | a page of children is of a parent that exists, in one query |
//! | [`command`] | a command that puts or deletes one item knows its own write |
//! | [`counted_children`] | a parent counts its children, also when several callers create and delete them at once |
//! | [`idempotency`] | a repeated command is carried out once |
//! | [`item_move`] | an item that moves to another container or partition is neither lost nor doubled |
//! | [`merged_list`] | a page over several partitions has each item once, and reads only the partitions that it needs |
//! | [`name_list`] | a page by name is sorted by code point, in one query |
//! | [`relocation`] | an item that goes to a colder container is neither lost nor shown twice |
//! | [`relocation_run`] | a run brings due items to a colder container, inside its slice of time |
//! | [`tombstone`] | a deleted item does not come back |
//! | [`unique_claim`] | a value has one owner |

pub mod child_list;
pub mod command;
pub mod counted_children;
pub mod idempotency;
pub mod item_move;
pub mod merged_list;
pub mod name_list;
pub mod relocation;
pub mod relocation_run;
pub mod tombstone;
pub mod unique_claim;
