//! What the write side and the lists of every domain share. An engine knows no domain and names no
//! status: it tells a typed outcome, and the command maps that to an answer.
//!
//! | engine | what it keeps true |
//! | --- | --- |
//! | [`child_list`] | a page of children is of a parent that exists, in one query |
//! | [`counted_children`] | a parent counts its children, whoever creates and deletes them at once |
//! | [`idempotency`] | a repeated command is carried out once |

pub mod child_list;
pub mod counted_children;
pub mod idempotency;
