//! The queries: one store request each, in one logical partition.

use tributary_functions::{
    engines::name_list::{NameKey, NameList},
    prelude::*,
};

use super::{ClubMemberId, GardenTool, GardenToolId, GardenToolName, PublicGardenTool};

/// Returns a garden tool: one point read.
pub(super) async fn get_garden_tool(
    State(garden_tools): State<Container>,
    Params((club_member, id)): Params<(ClubMemberId, GardenToolId)>,
    conditions: Conditions,
) -> Result<ItemResponse<PublicGardenTool>, ApiError> {
    conditions.found(garden_tools.item::<GardenTool>(&club_member, &id).await?)
}

const GARDEN_TOOLS: NameList = NameList {
    key: "clubMemberId",
    kind: ("type", "gardenTool"),
    select: PublicGardenTool::SELECT,
};

/// Returns a page of the garden tools of a club member, by name: one query in one partition.
pub(super) async fn list_garden_tools(
    State(garden_tools): State<Container>,
    Params(club_member): Params<ClubMemberId>,
    page: PageRequest<NameKey<GardenToolName>>,
) -> Result<Json<List<PublicGardenTool>>, ApiError> {
    let key =
        |garden_tool: &PublicGardenTool| NameKey::new(&garden_tool.name, garden_tool.id.as_str());
    Ok(Json(page.of_names(&GARDEN_TOOLS, &garden_tools, club_member.as_str(), key).await?))
}
