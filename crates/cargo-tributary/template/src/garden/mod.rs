//! The garden tools of club members, and their number.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `garden-tools` | a club member | its garden tools, and tombstones of deleted ones |
//! | `garden-tool-counts` | a club member | the number of garden tools, by the change feed |

mod garden_tool_counts;
pub mod garden_tools;

use std::sync::Arc;

use tributary_functions::prelude::*;

pub use self::garden_tool_counts::GardenToolCounts;
use self::garden_tool_counts::get_garden_tool_count;

const COUNT: &str = "/api/club-members/{clubMemberId}/garden-tool-count";

/// Returns the domain of the app.
pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let [sources, counts] =
        ["garden-tools", "garden-tool-counts"].map(|id| context.cosmos.container(id));
    let projection = AggregateProjection::<GardenToolCounts>::new(&sources, &counts);
    let sundays = "0 0 3 * * 0";
    let audit =
        Audit::of_aggregate::<GardenToolCounts>("AuditGardenTools", sundays, &sources, &counts);
    let functions = vec![get("GetGardenToolCount", COUNT, Anonymous, get_garden_tool_count)];
    let domain = Domain {
        http_functions: bind(functions, &counts),
        projections: vec![Arc::new(projection)],
        audit: Some(audit),
        containers: vec![counts],
        ..Domain::new("garden")
    };
    Ok(domain.and(garden_tools::part(context)))
}
