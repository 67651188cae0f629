//! The parts that `cargo local new` writes, with the lines that it prints.

#[path = "../../src/scaffold/templates/query.rs"]
mod find_seed;
#[path = "../../src/scaffold/templates/command.rs"]
mod plant_seed;
#[path = "../../src/scaffold/templates/copies.rs"]
pub mod shed_cards;

use tributary_functions::prelude::*;

use crate::garden::garden_tools;

/// Returns the parts as a domain beside that of the template.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let parts = Domain { http_functions: bind(http_functions(), &()), ..Domain::new("parts") };
    Ok(parts.and(shed_cards::part(context)))
}

fn http_functions() -> Vec<HttpFunction<()>> {
    vec![
        get("FindSeed", "/api/beds/{bedId}/seeds/{seedId}", Function, find_seed::find_seed),
        post("PlantSeed", "/api/beds/{bedId}/seeds/{seedId}", Function, plant_seed::plant_seed)
            .edits(),
    ]
}
