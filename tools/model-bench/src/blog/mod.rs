//! The data models V1, V2 and V3 of the blog: ten requests, their cost in each model, and the figures
//! of the seed article. `docs/models.md` explains the results.

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
