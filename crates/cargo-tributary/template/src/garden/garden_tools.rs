//! The garden tools of a club member, in the container `garden-tools`. A logical partition has the
//! garden tools of one club member, and the tombstones of deleted ones.
//!
//! A command takes two store requests: it reads the garden tool, decides, and writes it under the
//! ETag that it read; after a lost race or a lost answer it retries. The item keeps the ids of its
//! latest commands, so a repeated command is carried out once.

use tributary_functions::{
    engines::name_list::{NameKey, NameList, sort_key},
    prelude::*,
};

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

/// Returns the garden tools as a part of the domain.
pub(super) fn part(context: &Context<'_>) -> Domain {
    let garden_tools = context.cosmos.container("garden-tools");
    Domain {
        http_functions: bind(http_functions(), &garden_tools),
        containers: vec![garden_tools],
        ..Domain::new("garden-tools")
    }
}

const ITEM: &str = "/api/club-members/{clubMemberId}/garden-tools/{gardenToolId}";
const LIST: &str = "/api/club-members/{clubMemberId}/garden-tools";

fn http_functions() -> Vec<HttpFunction<Container>> {
    vec![
        put("PutGardenTool", ITEM, Function, put_garden_tool),
        get("GetGardenTool", ITEM, Function, get_garden_tool),
        delete("DeleteGardenTool", ITEM, Function, delete_garden_tool),
        get("ListGardenTools", LIST, Function, list_garden_tools),
    ]
}

/// Creates a garden tool or edits it.
async fn put_garden_tool(
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
async fn delete_garden_tool(
    State(garden_tools): State<Container>,
    Params((club_member, id)): Params<(ClubMemberId, GardenToolId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let tombstone = |garden_tool: &GardenTool| Ok(garden_tool.tombstone());
    command.delete_item(&garden_tools, (&club_member, &id), tombstone).await
}

/// Returns a garden tool: one point read.
async fn get_garden_tool(
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
async fn list_garden_tools(
    State(garden_tools): State<Container>,
    Params(club_member): Params<ClubMemberId>,
    page: PageRequest<NameKey<GardenToolName>>,
) -> Result<Json<List<PublicGardenTool>>, ApiError> {
    let key =
        |garden_tool: &PublicGardenTool| NameKey::new(&garden_tool.name, garden_tool.id.as_str());
    Ok(Json(page.of_names(&GARDEN_TOOLS, &garden_tools, club_member.as_str(), key).await?))
}
