//! The commands. Each reads the garden tool, decides, and writes it under the ETag that it read. After a
//! lost race or a lost answer it retries. The item keeps the ids of its latest commands, so a repeated
//! command is carried out once.

use tributary_functions::prelude::*;

use super::{ClubMemberId, GardenTool, GardenToolId, GardenToolName, PublicGardenTool};

/// A new garden tool, told from an edited one by its version.
struct FirstVersion;

impl DesiredItem<GardenTool> for FirstVersion {
    fn has_created(&self, garden_tool: &GardenTool) -> bool {
        garden_tool.version == 1
    }
}

/// Creates a garden tool or edits it: two store requests.
pub(super) async fn put_garden_tool(
    State(garden_tools): State<Container>,
    Params((club_member, id)): Params<(ClubMemberId, GardenToolId)>,
    command: ItemCommand,
    JsonBody(name): JsonBody<GardenToolName>,
) -> Result<ItemResponse<PublicGardenTool>, ApiError> {
    retry(async |attempt: Attempt| {
        let slot = garden_tools.slot::<GardenTool>(&club_member, &id).await?;
        let (garden_tool, before, is_new) = match command.put(slot, attempt, &FirstVersion)? {
            PutStep::Done(written) => return Ok(answer(&written)),
            PutStep::Create(tombstone) => {
                let (before, etag) = tombstone.map(|it| (it.item, it.etag)).unzip();
                let key = (club_member.clone(), id.clone());
                (GardenTool::new(key, name.clone(), before.as_ref(), &command.id), etag, true)
            }
            PutStep::Edit(Stored { item, etag }) => {
                (item.edited(name.clone(), &command.id), Some(etag), false)
            }
        };
        let stored = garden_tools.save(garden_tool, before.as_ref()).await?;
        Ok(answer(&WrittenItem { stored, is_new }))
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
    State(garden_tools): State<Container>,
    Params((club_member, id)): Params<(ClubMemberId, GardenToolId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    retry(async |_| {
        let slot = garden_tools.slot::<GardenTool>(&club_member, &id).await?;
        let Some(Stored { item, etag }) = command.delete(slot, "garden tool")? else {
            return Ok(StatusCode::NO_CONTENT);
        };
        command.conditions.check(Some(&etag))?;
        garden_tools.save(item.deleted(&command.id), Some(&etag)).await?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}
