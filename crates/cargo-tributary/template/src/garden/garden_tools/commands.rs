//! The commands. Each reads the garden tool, decides, and writes it under the ETag that it read. After a
//! lost race or a lost answer it retries. The item keeps the ids of its latest commands, so a repeated
//! command is carried out once.

use tributary_functions::prelude::*;

use super::{
    ClubMemberId, GardenTool, GardenToolId, GardenToolName, GardenTools, GardenToolsItem,
    PublicGardenTool,
};

/// A new garden tool, told from an edited one by its version.
struct FirstVersion;

impl DesiredItem<GardenTool> for FirstVersion {
    fn has_created(&self, garden_tool: &GardenTool) -> bool {
        garden_tool.version == 1
    }
}

/// Creates a garden tool or edits it: two store requests.
pub(super) async fn put_garden_tool(
    State(garden_tools): State<GardenTools>,
    Params(key): Params<(ClubMemberId, GardenToolId)>,
    command: ItemCommand,
    JsonBody(name): JsonBody<GardenToolName>,
) -> Result<ItemResponse<PublicGardenTool>, ApiError> {
    retry(async |attempt: Attempt| {
        let slot = garden_tools.slot(&key).await?;
        let (garden_tool, before, is_new) = match command.put(slot, attempt, &FirstVersion)? {
            PutStep::Done(written) => return Ok(answer(&written)),
            PutStep::Create(tombstone) => {
                let before = tombstone.as_ref().map(|tombstone| &tombstone.item);
                let garden_tool = GardenTool::new(key.clone(), name.clone(), before, &command.id);
                (garden_tool, tombstone.map(|tombstone| tombstone.etag), true)
            }
            PutStep::Edit(Stored { item, etag }) => {
                (item.edited(name.clone(), &command.id), Some(etag), false)
            }
        };
        let item = GardenToolsItem::GardenTool(garden_tool.clone());
        let etag =
            garden_tools.0.put(key.0.as_str(), key.1.as_str(), &item, before.as_ref()).await?;
        Ok(answer(&WrittenItem { stored: Stored { item: garden_tool, etag }, is_new }))
    })
    .await
}

fn answer(written: &WrittenItem<GardenTool>) -> ItemResponse<PublicGardenTool> {
    written.answer(&written.stored.item.public, |GardenTool { public, .. }| {
        format!("/api/club-members/{}/garden-tools/{}", public.club_member_id, public.id)
    })
}

/// Deletes a garden tool and leaves its tombstone: two store requests.
pub(super) async fn delete_garden_tool(
    State(garden_tools): State<GardenTools>,
    Params(key): Params<(ClubMemberId, GardenToolId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |_| {
        let slot = garden_tools.slot(&key).await?;
        let Some(Stored { item, etag }) = command.delete(slot, "garden tool")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        let tombstone = GardenToolsItem::DeletedGardenTool(item.deleted(&command.id));
        garden_tools.0.put(key.0.as_str(), key.1.as_str(), &tombstone, Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
