//! `POST /club-members/{clubMemberId}/garden-tools/{gardenToolId}`.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

use state::Garden;

checked_text!(
    /// The text of the body: 1 to 200 characters.
    Text, "A text", length_rule(1..=200)
);

from_form!(Text: text("text", Text::parse));

/// The answer.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShedCardAnswer {
    club_member_id: ClubMemberId,
    garden_tool_id: GardenToolId,
    text: Text,
}

/// Returns the ids of the path and the text of the body, without a store request.
pub(super) async fn shed_card(
    State(_state): State<Garden>,
    Params((club_member_id, garden_tool_id)): Params<(ClubMemberId, GardenToolId)>,
    JsonBody(text): JsonBody<Text>,
) -> Result<Json<ShedCardAnswer>, ApiError> {
    Ok(Json(ShedCardAnswer { club_member_id, garden_tool_id, text }))
}
