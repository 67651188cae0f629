//! `GET /club-members/{clubMemberId}/garden-tools/{gardenToolId}`.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

use state::Garden;

/// The answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShedCardAnswer {
    club_member_id: ClubMemberId,
    garden_tool_id: GardenToolId,
}

/// Returns the ids of the path, without a store request.
pub(super) async fn shed_card(
    State(_state): State<Garden>,
    Params((club_member_id, garden_tool_id)): Params<(ClubMemberId, GardenToolId)>,
) -> Result<Json<ShedCardAnswer>, ApiError> {
    Ok(Json(ShedCardAnswer { club_member_id, garden_tool_id }))
}
