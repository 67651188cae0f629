//! Favourites of songs, which are toggled: an app of its own, in the containers of the rooms.

use std::convert::Infallible;

use serde_json::json;
use tributary_functions::{prelude::*, program::Program};
use tributary_testing::{AppUnderTest, budget::budget};

use crate::{
    Rooms,
    rooms::{PersonId, RoomId},
};

#[items(partition_key = "roomId")]
enum SongsItem {
    Song(Song),
    Favourite(Favourite),
    FormerFavourite(FormerFavourite),
}

#[item(SongsItem, id = room_id, version, recent)]
struct Song {
    id: RoomId,
    room_id: RoomId,
    favourites: u64,
}

#[item(SongsItem, partition = room_id, id = id, version, created_by, tombstone(struct FormerFavourite {
    id: String,
    room_id: RoomId,
    person_id: PersonId,
}))]
struct Favourite {
    id: String,
    room_id: RoomId,
    person_id: PersonId,
}

struct Favourites;

impl Family for Favourites {
    const PARENT: &'static str = "song";
    const CHILD: &'static str = "favourite";
    const TOMBSTONE: Option<fn(Favourite) -> SongsItem> = Some(LeavesTombstone::leave);
    type Key = RoomId;
    type Item = SongsItem;
    type Parent = Song;
    type Child = Favourite;
    type ChildId = String;
    type Edit = Infallible;
    type Refused = Infallible;

    fn child_item(favourite: &Favourite, _song: &Song) -> SongsItem {
        favourite.clone().into()
    }

    fn child_id(favourite: &Favourite) -> String {
        favourite.id.clone()
    }

    fn after(song: &Song, changes: &Changes<'_, Self>) -> Song {
        Song { favourites: changes.count(song.favourites, |_| true), ..song.next() }
    }

    fn recreated(favourite: &Favourite, tombstone: SongsItem) -> Option<Favourite> {
        favourite.recreated(tombstone)
    }
}

async fn favour(
    State(favourites): State<CountedChildren<Favourites>>,
    Params((song, person)): Params<(RoomId, PersonId)>,
    command: CommandId,
) -> Result<StatusCode, ApiError> {
    let favourite = Favourite::first(id_of(&person), song.clone(), person, &command);
    let create = async |_| {
        let request = FamilyRequest::new(&command);
        match favourites.create(&song, favourite.clone(), request).await? {
            CreateOutcome::NoParent => Err(ApiError::NotFound("song")),
            // By this command, or by an earlier one.
            _ => Ok(StatusCode::NO_CONTENT),
        }
    };
    retry(create).await
}

async fn disfavour(
    State(favourites): State<CountedChildren<Favourites>>,
    Params((song, person)): Params<(RoomId, PersonId)>,
    command: ItemCommand,
) -> Result<StatusCode, ApiError> {
    let child = (&song, id_of(&person));
    let owner: fn(&Favourite) -> &str = |favourite| favourite.person_id.as_str();
    command.delete_child(&favourites, child, &Actor::ANY_USER, owner).await
}

fn id_of(person: &PersonId) -> String {
    format!("of:{person}")
}

const ROUTE: &str = "/api/songs/{songId}/favourites/{personId}";

fn songs(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let songs = context.cosmos.container("rooms");
    let functions = vec![
        put("Favour", ROUTE, Function, favour),
        delete("Disfavour", ROUTE, Function, disfavour),
    ];
    let http_functions = bind(functions, &CountedChildren::<Favourites>::new(songs.clone()));
    Ok(Domain { http_functions, containers: vec![songs], ..Domain::new("songs") })
}

struct Songs;

impl AppUnderTest for Songs {
    const ROOT: &'static str = Rooms::ROOT;

    fn program() -> Program {
        Program::new("tributary", env!("CARGO_PKG_VERSION")).domain(songs)
    }
}

type World = tributary_testing::World<Songs>;

const ANNS: &str = "/api/songs/s1/favourites/ann";

async fn a_song() -> World {
    let world = World::new().await;
    let song = json!({"id": "s1", "roomId": "s1", "type": "song", "favourites": 0, "version": 1});
    world.write_item("rooms", &song).await;
    world
}

#[tokio::test]
async fn a_favourite_comes_back_over_its_tombstone_and_is_counted_once() {
    let world = a_song().await;
    let put = || ("PUT", ANNS, None);
    let delete = || ("DELETE", ANNS, None);
    budget(&world, put(), "").await;
    budget(&world, put(), "").await;
    budget(&world, delete(), "").await;
    world.delete(ANNS).await.expect(404);
    budget(&world, put(), "").await;
    let favourite = world.item("rooms", "of:ann").await;
    assert_eq!((&favourite["version"], favourite.get("ttl")), (&json!(3), None));
    assert_eq!(world.item("rooms", "s1").await["favourites"], 1);
}

#[tokio::test]
async fn a_repeated_request_brings_no_favourite_back_that_was_taken_away_since() {
    let world = a_song().await;
    for repeated in ["one", "two"] {
        world.invoke(repeated, ("PUT", ANNS)).await.expect(204);
        world.delete(ANNS).await.expect(204);
        world.invoke(repeated, ("PUT", ANNS)).await.expect(204);
        world.invoke("one", ("PUT", ANNS)).await.expect(204);
        assert_eq!(world.item("rooms", "s1").await["favourites"], 0);
    }
}
