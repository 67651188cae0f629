//! What the test programs of the app and of its domains share: the checks of answers against the
//! documents, and the worlds. `crate::program` is the app of a program, in the folder `crate::ROOT`.

#![allow(dead_code, unused_imports, reason = "each program uses a part")]

pub(crate) mod budgets;
pub(crate) mod expect;
pub(crate) mod openapi;
pub(crate) mod world;
