//! The handler as a process of its own, without a host.

pub(crate) use tributary_testing::handler::{Handler, wait_for};

use super::world::World;

/// The executable of the handler.
pub(crate) const HANDLER: &str = env!("CARGO_BIN_EXE_tributary");

/// Starts the handler on the account of a world, with these settings besides those of the store.
pub(crate) async fn start(world: &World, settings: &[(&str, &str)]) -> Handler {
    Handler::start(HANDLER, world, settings).await
}
