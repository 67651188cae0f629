//! Copies of another shape, by the runbook of `docs/app/projections.md`: the second projection beside the first,
//! then its readers without the first, all on one account.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tributary_functions::{
    audit::Audit,
    http::{AuthLevel::Anonymous, get},
    prelude::*,
    program::Program,
    projection::copies::AuditedCopies,
};
use tributary_local::cosmos::ContainersFile;
use tributary_testing::{AppUnderTest, audits::findings};

use crate::{
    Rooms, World, given,
    rooms::{self, PersonId, RoomCopies, RoomsItem},
};

/// The copies of rooms in a container of their own: the id is that of the room, and a title is a `label`.
struct LabelledRooms;

#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LabelledRoom {
    id: String,
    person_id: String,
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<u32>,
}

impl Copies for LabelledRooms {
    const FUNCTION: &'static str = "LabelledRooms";
    type Change = RoomsItem;
    type Copy = LabelledRoom;

    fn copies_of(change: &RoomsItem) -> Vec<VersionedCopy<LabelledRoom>> {
        let copies = RoomCopies::copies_of(change).into_iter();
        let labelled = copies.map(|VersionedCopy { partition, version, item, .. }| {
            let copy = serde_json::to_value(item).unwrap();
            let text = |name: &str| copy[name].as_str().map(str::to_owned);
            let id = text("roomId").unwrap();
            let ttl = serde_json::from_value(copy["ttl"].clone()).unwrap();
            let item = LabelledRoom {
                id: id.clone(),
                person_id: partition.clone(),
                version,
                label: text("title"),
                ttl,
            };
            VersionedCopy { partition, id, version, item }
        });
        labelled.collect()
    }
}

impl AuditedCopies for LabelledRooms {
    const PARTITION_KEY: &'static str = "personId";

    fn source(copy: &LabelledRoom) -> Option<(String, String)> {
        Some((copy.id.clone(), copy.id.clone()))
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct Labels {
    items: Vec<String>,
}

async fn list_labels(
    State(copies): State<Container>,
    Params(id): Params<PersonId>,
) -> Result<Json<Labels>, ApiError> {
    let query = Query::from("SELECT * FROM c WHERE IS_DEFINED(c.label)");
    let rows = copies.query_rows(query, Scope::Partition(id.as_str()), 100).await?;
    let rooms = rows.into_iter().filter_map(Result::ok);
    Ok(Json(Labels { items: rooms.filter_map(|room: LabelledRoom| room.label).collect() }))
}

/// Adds the second projection, with a container of its own, to the first.
fn with_both(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let mut domain = rooms::domain(context)?;
    let [sources, copies] = ["rooms", "labelled-rooms"].map(|id| context.cosmos.container(id));
    domain.projections.push(Arc::new(CopyProjection::<LabelledRooms>::new(&sources, &copies)));
    domain.containers.push(copies);
    Ok(domain)
}

/// Moves the readers to the second projection, and takes the first away.
fn with_new(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let mut domain = with_both(context)?;
    domain.projections.retain(|projection| projection.function() != RoomCopies::FUNCTION);
    domain.http_functions.retain(|function| function.name != "ListRooms");
    let reader = get("ListRooms", "/api/people/{personId}/rooms", Anonymous, list_labels)
        .reads_copies_of(&["NamesInRooms", "LabelledRooms"]);
    domain.http_functions.extend(bind(vec![reader], &context.cosmos.container("labelled-rooms")));
    Ok(domain)
}

struct BothShapes;

impl AppUnderTest for BothShapes {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        Program::new("tributary", "0.2.0").domain(with_both)
    }
}

struct NewShape;

impl AppUnderTest for NewShape {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        Program::new("tributary", "0.3.0").domain(with_new)
    }
}

#[tokio::test]
async fn readers_find_complete_copies_while_these_change_their_shape_in_two_deployments() {
    const LIST: &str = "/api/people/ann/rooms";
    let old = given::rooms().await;
    given::titled(&old, "r1", "ann", "First").await.expect(200);
    given::room(&old, "r0", "ann").await.expect(201);
    old.settle().await;
    old.delete("/api/rooms/r0").await.expect(204);
    let containers = json!({"containers": [{
        "id": "labelled-rooms",
        "partitionKey": {"paths": ["/personId"], "kind": "Hash", "version": 2},
        "defaultTtl": -1,
    }]});
    let containers = ContainersFile::parse(&containers.to_string()).unwrap();
    old.endpoint.provision(World::DATABASE, &containers).await.unwrap();

    // First deployment: the second projection begins at the start of the change feed.
    let both = tributary_testing::World::<BothShapes>::on(old.endpoint.clone()).await;
    given::titled(&old, "r2", "ann", "Second").await.expect(201);
    both.settle().await;
    assert_eq!(both.list(LIST).await.len(), 2, "the readers have the old copies");
    let cosmos = World::cosmos(&old.endpoint).await;
    let [sources, copies] = ["rooms", "labelled-rooms"].map(|id| cosmos.container(id));
    let audit = Audit::of_copies::<LabelledRooms>("Audit", "0 0 3 * * 0", &sources, &copies);
    assert_eq!(findings(&audit, false).await, [""; 0]);
    assert_eq!(given::dead_letters(&old).await, [""; 0]);

    // Second deployment: instances of both versions answer, each from complete copies.
    let titles = async |world: &tributary_testing::World<NewShape>| {
        let mut titles = world.list(LIST).await;
        titles.sort_by_key(Value::to_string);
        titles
    };
    let new = tributary_testing::World::<NewShape>::on(old.endpoint.clone()).await;
    assert_eq!(titles(&new).await, ["First", "Second"]);
    both.put("/api/rooms/r3", json!({"personId": "ann", "title": "Third"})).await.expect(201);
    both.settle().await;
    assert_eq!(both.list(LIST).await.len(), 3);
    new.delete("/api/rooms/r1").await.expect(204);
    new.settle().await;
    assert_eq!(titles(&new).await, ["Second", "Third"]);
    assert!(!new.triggers().await.contains(&"RoomCopies".to_owned()));
    assert_eq!(findings(&audit, false).await, [""; 0]);
}
