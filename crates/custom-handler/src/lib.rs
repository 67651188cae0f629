//! The Azure Functions custom-handler protocol for axum.
