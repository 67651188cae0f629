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
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum GardenToolsItem {
    /// A garden tool.
    GardenTool(GardenTool),
    /// The tombstone of a deleted garden tool.
    DeletedGardenTool(DeletedGardenTool),
}

/// A garden tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GardenTool {
    /// The part that callers see.
    #[serde(flatten)]
    pub public: PublicGardenTool,
    /// The name, as lists sort it.
    sort_name: String,
    /// The version, which rises with each write, also over a deletion.
    pub version: u64,
    /// The latest commands.
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    recent: RecentCommands,
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

/// The tombstone of a deleted garden tool. The change feed delivers it to the projections, and it expires.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedGardenTool {
    /// The id of the garden tool.
    pub id: GardenToolId,
    /// The partition key.
    pub club_member_id: ClubMemberId,
    /// The version of the deletion.
    pub version: u64,
    /// The latest commands.
    #[serde(default, skip_serializing_if = "RecentCommands::is_empty")]
    recent: RecentCommands,
    /// The time to live, in seconds.
    ttl: u32,
}

remembers!(GardenTool, DeletedGardenTool);
item_types!(GardenToolsItem: GardenTool(GardenTool), DeletedGardenTool(DeletedGardenTool));

impl ChangeFeedItem for GardenToolsItem {
    const PARTITION_KEY: &'static str = "clubMemberId";

    fn origin(&self) -> Option<Origin> {
        Some(match self {
            Self::GardenTool(GardenTool { public, version, .. }) => {
                Origin::new(&public.club_member_id, &public.id, *version)
            }
            Self::DeletedGardenTool(DeletedGardenTool { club_member_id, id, version, .. }) => {
                Origin::new(club_member_id, id, *version)
            }
        })
    }
}

impl GardenTool {
    /// Creates a garden tool; `before` is the tombstone of a deleted one with its id.
    pub fn new(
        (club_member_id, id): (ClubMemberId, GardenToolId),
        name: GardenToolName,
        before: Option<&DeletedGardenTool>,
        command: &CommandId,
    ) -> Self {
        let (version, recent) = before.map_or_else(
            || (1, RecentCommands::default()),
            |before| (before.version + 1, before.recent.clone()),
        );
        let sort_name = sort_key(name.as_str());
        let public = PublicGardenTool { id, club_member_id, name };
        Self { public, sort_name, version, recent }.remembering(command)
    }

    /// Returns the garden tool with another name.
    pub fn edited(&self, name: GardenToolName, command: &CommandId) -> Self {
        let mut edited = self.clone();
        edited.sort_name = sort_key(name.as_str());
        edited.public.name = name;
        edited.version += 1;
        edited.remembering(command)
    }

    /// Returns the tombstone that the garden tool leaves.
    pub fn deleted(&self, command: &CommandId) -> DeletedGardenTool {
        let Self { public, version, recent, .. } = self.clone().remembering(command);
        let PublicGardenTool { id, club_member_id, .. } = public;
        let ttl = tombstone::TTL_SECONDS;
        DeletedGardenTool { id, club_member_id, version: version + 1, recent, ttl }
    }
}
