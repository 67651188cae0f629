//! The charges that requests would have in Azure, in request units. They are an estimate, since the
//! emulator charges every page of a query 1.0, and writes by a crude rule.
//!
//! The model in [`cosmos_model::charges`] is pure functions of the work of a request. [`charged`] measures
//! that work around the request. `docs/local-endpoint.md` has the error of each figure and the
//! omissions.

mod ledger;
mod queries;

pub(super) use ledger::charged;

/// The source of the endpoint's charges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Charges {
    /// An estimate of what Azure charges.
    #[default]
    Model,
    /// The charges of the SDK's emulator: every page of a query 1.0.
    Emulator,
}
