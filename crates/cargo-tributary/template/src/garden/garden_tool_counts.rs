//! The number of garden tools of a club member: a copy that the change feed updates.

use schemars::JsonSchema;
use serde::Serialize;
use tributary_functions::prelude::*;

use super::garden_tools::{ClubMemberId, GardenToolsItem};

/// The numbers of garden tools, by club member.
pub struct GardenToolCounts;

impl Aggregate for GardenToolCounts {
    const FUNCTION: &'static str = "GardenToolCounts";
    type Change = GardenToolsItem;

    fn contributions(change: &GardenToolsItem) -> impl IntoIterator<Item = Contribution> {
        match change {
            GardenToolsItem::GardenTool(item) => {
                Some(Contribution::new(item.public.club_member_id.as_str(), 1))
            }
            GardenToolsItem::DeletedGardenTool(_) => None,
        }
    }
}

/// The number of garden tools of a club member.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GardenToolCount {
    club_member_id: ClubMemberId,
    garden_tool_count: i64,
}

/// Returns the number of garden tools of a club member, 0 for one without: one point read.
pub(super) async fn get_garden_tool_count(
    State(counts): State<Container>,
    Params(club_member_id): Params<ClubMemberId>,
) -> Result<Json<GardenToolCount>, ApiError> {
    let garden_tool_count = aggregate::total(&counts, club_member_id.as_str()).await?;
    Ok(Json(GardenToolCount { club_member_id, garden_tool_count }))
}
