//! A stand-in for the Azure Functions host.
