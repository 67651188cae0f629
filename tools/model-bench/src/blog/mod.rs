//! The data models V1, V2 and V3 of the blog: ten requests, what each takes in each model, and what
//! the seed article says. `docs/models.md` tells how to read it.

mod cli;
mod data;
mod request;
mod seed;

mod models;

mod calls;
mod load;
mod measure;
mod run;

mod report;

#[cfg(test)]
mod tests;

pub(crate) use self::{cli::BlogCli, run::run};
