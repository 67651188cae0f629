//! The stored items of garden tools, and the rules of their values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tributary_functions::{engines::name_list::sort_key, prelude::*};

checked_text!(
    /// The id of a club member: the partition key.
    ClubMemberId, "ann", id_rule;

    /// The id of a garden tool.
    GardenToolId, "a1", id_rule;

    /// The name of a garden tool: 1 to 200 characters.
    GardenToolName, "A name", length_rule(1..=200)
);

from_form!(GardenToolName: text("name", GardenToolName::parse));

/// An item of the container `garden-tools`.
#[items(partition_key = "clubMemberId")]
pub enum GardenToolsItem {
    /// A garden tool.
    GardenTool(GardenTool),
    /// The tombstone of a deleted garden tool.
    DeletedGardenTool(DeletedGardenTool),
}

/// A garden tool, with its version and its latest commands.
#[item(GardenToolsItem, partition = club_member_id, id = id, version, recent, tombstone(struct DeletedGardenTool {
    /// The id of the garden tool.
    id: GardenToolId,
    /// The partition key.
    club_member_id: ClubMemberId,
}))]
pub struct GardenTool {
    /// The part that callers see.
    #[serde(flatten)]
    pub public: PublicGardenTool,
    /// The name, as lists sort it.
    sort_name: String,
}

/// A garden tool as callers see it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GardenTool")]
pub struct PublicGardenTool {
    /// The id.
    pub id: GardenToolId,
    /// The partition key.
    pub club_member_id: ClubMemberId,
    /// The name.
    pub name: GardenToolName,
}

impl GardenTool {
    /// Creates a garden tool; `before` is the tombstone of a deleted one with its id.
    pub fn new(
        (club_member_id, id): (ClubMemberId, GardenToolId),
        name: GardenToolName,
        before: Option<&DeletedGardenTool>,
        command: &CommandId,
    ) -> Self {
        let sort_name = sort_key(name.as_str());
        let public = PublicGardenTool { id, club_member_id, name };
        Self::first(public, sort_name).replacing(before).remembering(command)
    }

    /// Returns the garden tool with another name.
    pub fn edited(&self, name: GardenToolName, command: &CommandId) -> Self {
        let mut edited = self.next();
        edited.sort_name = sort_key(name.as_str());
        edited.public.name = name;
        edited.remembering(command)
    }
}
