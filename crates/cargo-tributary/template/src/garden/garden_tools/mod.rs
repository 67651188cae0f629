//! The garden tools of a club member, in the container `garden-tools`. A logical partition has the
//! garden tools of one club member, and the tombstones of deleted ones.

mod commands;
mod model;
mod queries;

use tributary_functions::prelude::*;

pub use self::model::{
    ClubMemberId, DeletedGardenTool, GardenTool, GardenToolId, GardenToolName, GardenToolsItem,
    PublicGardenTool,
};
use self::{
    commands::{delete_garden_tool, put_garden_tool},
    queries::{get_garden_tool, list_garden_tools},
};

/// Returns the garden tools as a part of the domain.
pub(super) fn part(context: &Context<'_>) -> Domain {
    let garden_tools = context.cosmos.container("garden-tools");
    Domain {
        http_functions: bind(http_functions(), &garden_tools),
        containers: vec![garden_tools],
        ..Domain::new("garden-tools")
    }
}

const ITEM: &str = "/api/club-members/{clubMemberId}/garden-tools/{gardenToolId}";
const LIST: &str = "/api/club-members/{clubMemberId}/garden-tools";

fn http_functions() -> Vec<HttpFunction<Container>> {
    vec![
        put("PutGardenTool", ITEM, Function, put_garden_tool),
        get("GetGardenTool", ITEM, Function, get_garden_tool),
        delete("DeleteGardenTool", ITEM, Function, delete_garden_tool),
        get("ListGardenTools", LIST, Function, list_garden_tools),
    ]
}
