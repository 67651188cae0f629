//! The garden tools of club members, over HTTP.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tributary_testing::{
    budget::budget,
    checks::{self, RepeatableCommand},
    proof::Sources,
};

use my_app::garden::garden_tools::{
    ClubMemberId, GardenTool, GardenToolId, GardenToolName, GardenToolsItem,
};

use crate::{App, World};

const ITEM: &str = "/api/club-members/ann/garden-tools/a1";

#[tokio::test]
async fn an_item_is_read_as_it_was_written() {
    let world = World::new().await;
    let written = world.put(ITEM, json!({"name": "A"})).await.expect(201).json();
    assert_eq!(world.get(ITEM).await.expect(200).json(), written);
    world.put(ITEM, json!({"name": "B"})).await.expect(200);
    assert_eq!(world.get(ITEM).await.expect(200).json()["name"], "B");
    world.delete(ITEM).await.expect(204);
    world.get(ITEM).await.expect(404);
}

#[tokio::test]
async fn a_list_has_the_items_of_one_partition_by_name_page_by_page() {
    let world = World::new().await;
    for (partition, id, name) in
        [("ann", "a1", "C"), ("ann", "a2", "A"), ("ann", "a3", "B"), ("bob", "a1", "A")]
    {
        let path = format!("/api/club-members/{partition}/garden-tools/{id}");
        world.put(&path, json!({"name": name})).await.expect(201);
    }
    for limit in [1, 2, 100] {
        let items = world.list_by("/api/club-members/ann/garden-tools", limit).await;
        let names: Vec<&str> = items.iter().filter_map(|item| item["name"].as_str()).collect();
        assert_eq!(names, ["A", "B", "C"]);
    }
}

#[tokio::test]
async fn a_command_that_is_repeated_is_carried_out_once() {
    let world = World::new().await;
    world.put(ITEM, json!({"name": "A"})).await.expect(201);
    checks::answered_as_the_first_time(&world, "an-invocation", ("DELETE", ITEM), 204).await;
    let body = Some(json!({"name": "A"}));
    let put = RepeatableCommand { method: "PUT", path: ITEM, body, result: ITEM };
    checks::budget_spent_anywhere(World::new, &put, &[]).await;
}

#[tokio::test]
async fn the_requests_of_the_functions_cost_their_budget() {
    let world = World::new().await;
    // The SDK has read the container before.
    let other = "/api/club-members/ann/garden-tools/a2";
    world.put(other, json!({"name": "B".repeat(25)})).await.expect(201);
    let list = "/api/club-members/ann/garden-tools";
    let name = |name| Some(json!({"name": name}));
    for (method, path, body, cost) in [
        ("PUT", ITEM, name("A"), "2 requests, 7.35 RU: read garden-tools, create garden-tools"),
        ("PUT", ITEM, name("B"), "2 requests, 12.90 RU: read garden-tools, replace garden-tools"),
        ("GET", ITEM, None, "1 request, 1.00 RU: read garden-tools"),
        ("GET", list, None, "1 request, 3.32 RU: query garden-tools"),
        ("DELETE", ITEM, None, "2 requests, 12.90 RU: read garden-tools, replace garden-tools"),
    ] {
        budget(&world, (method, path, body), cost).await;
    }
}

/// The items of `garden-tools`, as the commands write them: the sources of projections.
#[derive(Default)]
pub(crate) struct GardenTools(BTreeMap<(u8, u8), GardenToolsItem>);

impl Sources for GardenTools {
    type App = App;
    const CONTAINER: &'static str = "garden-tools";
    const PARTITION_KEY: &'static str = "clubMemberId";

    fn write(&mut self, source: u8, partition: u8) -> Value {
        let club_member = ClubMemberId::parse(format!("o{partition}")).unwrap();
        let id = GardenToolId::parse(format!("a{source}")).unwrap();
        let key = (&club_member, &id);
        let name = GardenToolName::parse("A".to_owned()).unwrap();
        let item = match self.0.get(&(source, partition)) {
            Some(GardenToolsItem::GardenTool(item)) => item.renamed(name),
            Some(GardenToolsItem::DeletedGardenTool(before)) => {
                GardenTool::new(key, name).replacing(Some(before))
            }
            None => GardenTool::new(key, name),
        };
        self.keep((source, partition), item.into())
    }

    fn delete(&mut self, source: u8) -> Option<Value> {
        let (key, tombstone) = self.0.iter().find_map(|(key, item)| match item {
            GardenToolsItem::GardenTool(item) if key.0 == source => Some((*key, item.tombstone())),
            _ => None,
        })?;
        Some(self.keep(key, tombstone.into()))
    }
}

impl GardenTools {
    fn keep(&mut self, key: (u8, u8), item: GardenToolsItem) -> Value {
        let stored = json!(item);
        self.0.insert(key, item);
        stored
    }
}

#[test]
fn each_write_raises_the_version_also_over_a_deletion() {
    let mut items = GardenTools::default();
    let states =
        [items.write(0, 0), items.write(0, 0), items.delete(0).unwrap(), items.write(0, 0)];
    assert_eq!(states.map(|state| state["version"].clone()), [1, 2, 3, 4]);
}
