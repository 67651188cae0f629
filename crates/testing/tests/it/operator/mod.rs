//! Projections in the hands of operators.

mod failures;
mod lag;
mod pause;
mod rebuild;
mod states;

use serde_json::json;
use tributary_functions::{app::AppOptions, projection::ProjectionOptions};
use tributary_testing::Answer;

use crate::World;

pub(crate) async fn pause(world: &World, name: &str) -> Answer {
    world.post(&format!("/api/projections/{name}/pause"), json!({})).await
}

pub(crate) async fn resume(world: &World, name: &str) -> Answer {
    world.call("POST", &format!("/api/projections/{name}/resume"), &[], None).await
}

/// Returns the same world, seen through an instance that reads the state before each batch.
async fn attentive(world: &World) -> World {
    let state_max_age = std::time::Duration::ZERO;
    let projections = ProjectionOptions { state_max_age, ..ProjectionOptions::default() };
    world.with_app(AppOptions { projections, ..World::options() }).await
}
