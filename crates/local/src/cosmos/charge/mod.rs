//! What requests would cost in Azure, in request units: an estimate, since the emulator charges
//! every page of a query 1.0 and writes by a crude rule.
//!
//! The model is pure functions of what a request did, in [`tributary_charges`]. [`Ledger`] finds out
//! what a request did, around the request itself. `docs/local-endpoint.md` has the error of each
//! figure and what is left out.

mod ledger;
mod queries;
mod writes;

pub(super) use ledger::Ledger;

/// Where the charges of the endpoint come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Charges {
    /// An estimate of what Azure charges.
    #[default]
    Model,
    /// As the SDK's emulator charges: every page of a query 1.0.
    Emulator,
}
