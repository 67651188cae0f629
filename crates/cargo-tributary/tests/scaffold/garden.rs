//! A domain with the lines that `cargo local new` prints.

#[path = "../../src/scaffold/templates/function/query.rs"]
mod find_seed;
#[path = "../../src/scaffold/templates/aggregate/mod.rs"]
pub mod garden_tools;
#[path = "../../src/scaffold/templates/function/command.rs"]
mod plant_seed;
#[path = "../../src/scaffold/templates/projection/copies.rs"]
pub mod shed_cards;

use tributary_functions::prelude::*;

/// Returns the garden.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let garden = Domain { http_functions: bind(http_functions(), &()), ..Domain::new("garden") };
    Ok(garden.and(garden_tools::part(context)).and(shed_cards::part(context)))
}

fn http_functions() -> Vec<HttpFunction<()>> {
    vec![
        get("FindSeed", "/api/beds/{bedId}/seeds/{seedId}", Function, find_seed::find_seed),
        post("PlantSeed", "/api/beds/{bedId}/seeds/{seedId}", Function, plant_seed::plant_seed)
            .edits(),
    ]
}
