//! The common part of the test programs: worlds, what the stories of each domain take as given, and the
//! checks of answers against the documents. Each domain has a program of its own, so that an edit
//! builds one domain's stories.

#![allow(dead_code, unused_imports, reason = "each program uses a part")]

pub(crate) mod at_once;
pub(crate) mod blog;
pub(crate) mod budgets;
pub(crate) mod callers;
pub(crate) mod complete;
pub(crate) mod expect;
pub(crate) mod handler;
pub(crate) mod news;
pub(crate) mod openapi;
pub(crate) mod webstore;
pub(crate) mod world;
