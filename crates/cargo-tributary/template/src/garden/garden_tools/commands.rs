//! The commands: two store requests each. A command reads the garden tool, decides, and writes it
//! under the ETag that it read; after a lost race or a lost answer it retries. The item keeps the
//! ids of its latest commands, so a repeated command is carried out once.

use tributary_functions::prelude::*;

use super::{
    ClubMemberId, DeletedGardenTool, GardenTool, GardenToolId, GardenToolName, PublicGardenTool,
};

/// Creates a garden tool or edits it.
pub(super) async fn put_garden_tool(
    State(garden_tools): State<Container>,
    Params((club_member, id)): Params<(ClubMemberId, GardenToolId)>,
    command: ItemCommand,
    JsonBody(name): JsonBody<GardenToolName>,
) -> Result<ItemResponse<PublicGardenTool>, ApiError> {
    let key = (&club_member, &id);
    let edit = |garden_tool: &GardenTool| Ok(Some(garden_tool.renamed(name.clone())));
    let create = async |tombstone: Option<DeletedGardenTool>| {
        Ok(GardenTool::new(key, name.clone()).replacing(tombstone.as_ref()))
    };
    command.put_item(&garden_tools, key, edit, create).await
}

/// Deletes a garden tool and leaves its tombstone.
pub(super) async fn delete_garden_tool(
    State(garden_tools): State<Container>,
    Params((club_member, id)): Params<(ClubMemberId, GardenToolId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let tombstone = |garden_tool: &GardenTool| Ok(garden_tool.tombstone());
    command.delete_item(&garden_tools, (&club_member, &id), tombstone).await
}
