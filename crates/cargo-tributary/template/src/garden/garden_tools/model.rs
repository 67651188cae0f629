//! The stored items of garden tools, and the rules of their values.

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
#[item(GardenToolsItem, partition = club_member_id, id = id, version, recent, public(
    /// A garden tool as callers see it.
    struct PublicGardenTool { id, club_member_id, name }
), tombstone(struct DeletedGardenTool { id, club_member_id }))]
pub struct GardenTool {
    /// The id.
    pub id: GardenToolId,
    /// The partition key.
    pub club_member_id: ClubMemberId,
    /// The name.
    pub name: GardenToolName,
    /// The name, as lists sort it.
    sort_name: String,
}

impl GardenTool {
    /// Creates a garden tool.
    pub fn new((club_member, id): (&ClubMemberId, &GardenToolId), name: GardenToolName) -> Self {
        let sort_name = sort_key(name.as_str());
        Self::first(id.clone(), club_member.clone(), name, sort_name)
    }

    /// Returns the garden tool with another name.
    pub fn renamed(&self, name: GardenToolName) -> Self {
        Self { sort_name: sort_key(name.as_str()), name, ..self.next() }
    }
}
