//! Songs with tags, and their favourites, which are toggled: an app of its own, in the containers of the rooms.

use std::{collections::HashMap, sync::Arc};

use serde_json::{Value, json};
use tributary_functions::{
    prelude::*,
    program::Program,
    projection::{
        Background, BackgroundOptions,
        removal::{remove_for_a_slice, remove_some},
    },
};
use tributary_testing::{
    AppUnderTest,
    RequestKind::Batch,
    audits::findings,
    budget::{Cost, cost, kind, request_units},
    interleavings::amid,
    proof::{self, Sources},
};

use crate::{
    Rooms,
    rooms::{PersonId, RoomId},
};

#[items(partition_key = "roomId")]
enum SongsItem {
    Song(Song),
    DeletedSong(DeletedSong),
    Favourite(Favourite),
    FormerFavourite(FormerFavourite),
}

#[item(SongsItem, id = room_id, version, recent, tombstone(struct DeletedSong {
    id: RoomId,
    room_id: RoomId,
}))]
struct Song {
    id: RoomId,
    room_id: RoomId,
    tags: Vec<String>,
    favourites: u64,
}

#[item(SongsItem, partition = room_id, id = id, version, created_by, child_of(Song, counted = favourites),
    tombstone(struct FormerFavourite { id, room_id, person_id }))]
struct Favourite {
    id: String,
    room_id: RoomId,
    person_id: PersonId,
}

/// The numbers of songs by tag. A tag that a song has twice is counted twice.
struct SongTags;

impl Aggregate for SongTags {
    const FUNCTION: &'static str = "SongTags";
    type Change = SongsItem;

    fn contributions(change: &SongsItem) -> impl IntoIterator<Item = Contribution> {
        let tags = if let SongsItem::Song(song) = change { song.tags.as_slice() } else { &[] };
        tags.iter().map(|tag| Contribution::new(tag.as_str(), 1)).collect::<Vec<_>>()
    }

    fn is_source(change: &SongsItem) -> bool {
        matches!(change, SongsItem::Song(_) | SongsItem::DeletedSong(_))
    }
}

struct FavouriteCounts;

impl Aggregate for FavouriteCounts {
    const FUNCTION: &'static str = "FavouriteCounts";
    type Change = SongsItem;

    fn contributions(change: &SongsItem) -> impl IntoIterator<Item = Contribution> {
        let SongsItem::Favourite(favourite) = change else { return None };
        Some(Contribution::new(favourite.person_id.as_str(), 1))
    }

    fn is_source(change: &SongsItem) -> bool {
        matches!(change, SongsItem::Favourite(_) | SongsItem::FormerFavourite(_))
    }
}

async fn favour(
    State(favourites): State<CountedChildren<Favourite>>,
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
    State(favourites): State<CountedChildren<Favourite>>,
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
    let [songs, counts] = ["rooms", "room-counts"].map(|id| context.cosmos.container(id));
    let functions = vec![
        put("Favour", ROUTE, Function, favour),
        delete("Disfavour", ROUTE, Function, disfavour),
    ];
    Ok(Domain {
        http_functions: bind(functions, &CountedChildren::<Favourite>::new(songs.clone())),
        projections: vec![
            Arc::new(AggregateProjection::<SongTags>::new(&songs, &counts)),
            Arc::new(AggregateProjection::<FavouriteCounts>::new(&songs, &counts)),
        ],
        containers: vec![songs, counts],
        ..Domain::new("songs")
    })
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

/// Creates a world with the song `s1`, without a tag.
async fn a_song() -> World {
    let world = World::new().await;
    world.write_item("rooms", &song(1, &[])).await;
    world
}

fn song(version: u64, tags: &[&str]) -> Value {
    json!({
        "id": "s1", "roomId": "s1", "type": "song", "tags": tags, "favourites": 0, "version": version,
    })
}

async fn are_counted<const N: usize>(world: &World, keys: [&str; N], expected: [i64; N]) {
    let counts = World::cosmos(&world.endpoint).await.container("room-counts");
    assert_eq!(aggregate::totals(&counts, keys).await.unwrap(), expected, "{keys:?}");
}

#[tokio::test]
async fn a_favourite_comes_back_over_its_tombstone_and_is_counted_once() {
    let world = a_song().await;
    let mut costs = Vec::new();
    for method in ["PUT", "PUT", "DELETE", "PUT"] {
        let Cost { store_requests, .. } = cost(&world, (method, ANNS, None)).await;
        let (n, ru) = (store_requests.len(), request_units(&store_requests));
        costs.push(format!("{method}: {n} requests, {ru:.2} RU"));
        world.settle().await;
    }
    let expected = [
        "PUT: 2 requests, 15.10 RU",
        "PUT: 4 requests, 6.00 RU",
        "DELETE: 3 requests, 14.70 RU",
        "PUT: 5 requests, 18.70 RU",
    ];
    assert_eq!(costs, expected);
    are_counted(&world, ["ann"], [1]).await;
    let favourite = world.item("rooms", "of:ann").await;
    assert_eq!((&favourite["version"], favourite.get("ttl")), (&json!(3), None));
    assert_eq!(world.item("rooms", "s1").await["favourites"], 1);
    // A holder with one contribution has the form that it has had before there could be several.
    assert!(world.items("room-counts").await.iter().all(|item| item.get("others").is_none()));
    world.delete(ANNS).await.expect(204);
    world.delete(ANNS).await.expect(404);
    world.settle().await;
    are_counted(&world, ["ann"], [0]).await;
}

#[tokio::test]
async fn the_favourites_of_a_deleted_song_leave_tombstones_which_their_count_follows() {
    for in_a_request in [true, false] {
        let world = a_song().await;
        world.put(ANNS, Value::Null).await.expect(204);
        world.put(&ANNS.replace("ann", "bob"), Value::Null).await.expect(204);
        world.settle().await;
        are_counted(&world, ["ann", "bob"], [1, 1]).await;
        let deleted = json!({
            "id": "s1", "roomId": "s1", "type": "deletedSong", "version": 4, "ttl": 9,
        });
        world.write_item("rooms", &deleted).await;
        let songs = World::cosmos(&world.endpoint).await.container("rooms");
        let background = Background::new(BackgroundOptions::default());
        let removal = ChildrenOf::<DeletedSong>::new(&songs, &background);
        let deleted: DeletedSong = serde_json::from_value(deleted).unwrap();
        let remove = async || {
            if in_a_request {
                assert!(remove_some(&removal, &deleted).await.unwrap());
            } else {
                remove_for_a_slice(&removal, &background, &deleted).await.unwrap();
            }
        };
        // Two removals at once: the store refuses one of them.
        amid((&world, Batch, "rooms"), remove(), remove()).await;
        assert_eq!(world.item("rooms", "of:bob").await["version"], 2);
        let ((), again) = world.requests_of(remove()).await;
        assert_eq!(again.iter().map(kind).collect::<Vec<_>>(), ["query rooms"]);
        world.settle().await;
        are_counted(&world, ["ann", "bob"], [0, 0]).await;
        // A favourite of the next song under the id is a new one.
        world.write_item("rooms", &song(5, &[])).await;
        world.put(ANNS, Value::Null).await.expect(204);
        remove().await;
        world.settle().await;
        are_counted(&world, ["ann", "bob"], [1, 0]).await;
    }
}

#[tokio::test]
async fn a_song_contributes_to_each_of_its_tags_and_to_not_too_many() {
    let world = a_song().await;
    let tags = async |song: Value| world.deliver("SongTags", &[song]).await.unwrap();
    tags(song(4, &["old", "new", "new"])).await;
    are_counted(&world, ["old", "new"], [1, 2]).await;
    let many: Vec<_> = (0..33).map(|n| format!("t{n}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    tags(song(5, &many)).await;
    assert_eq!(world.items("dead-letters").await.len(), 1);
    are_counted(&world, ["old", "t0"], [1, 0]).await;
    tags(song(6, &many[1..])).await;
    are_counted(&world, ["old", "new", "t0", "t1"], [0, 0, 0, 1]).await;
}

#[tokio::test]
async fn the_audit_checks_and_repairs_the_share_of_each_tag() {
    let world = a_song().await;
    world.write_item("rooms", &song(2, &["a", "b"])).await;
    let cosmos = World::cosmos(&world.endpoint).await;
    let [songs, counts] = ["rooms", "room-counts"].map(|id| cosmos.container(id));
    let audit = Audit::of_aggregate::<SongTags>("Audit", "0 0 3 * * 0", &songs, &counts);
    assert_eq!(findings(&audit, true).await, ["copy-missing a of s1", "copy-missing b of s1"]);
    assert_eq!(findings(&audit, true).await, [""; 0]);
    for item in [
        json!({"id": "of s1", "key": "c", "version": 1, "amount": 1}),
        json!({"id": "total", "key": "a", "value": 7}),
    ] {
        world.write_item("room-counts", &item).await;
    }
    let found = findings(&audit, true).await;
    for expected in ["copy-extra c of s1", "count-differs a total"] {
        assert!(found.iter().any(|found| found == expected), "{found:?}");
    }
    findings(&audit, true).await;
    assert_eq!(findings(&audit, false).await, [""; 0]);
    are_counted(&world, ["a", "b", "c"], [1, 1, 0]).await;
}

/// Songs, as the commands write them: each version has another count after a while.
#[derive(Default)]
struct SongWriter(HashMap<u8, SongsItem>);

impl Sources for SongWriter {
    type App = Songs;

    const CONTAINER: &'static str = "rooms";
    const PARTITION_KEY: &'static str = "roomId";

    fn write(&mut self, source: u8, owner: u8) -> Value {
        let tags = |version: u64| -> Vec<String> {
            let bits = (version * 3 + u64::from(owner)) % 8;
            let tags = ["a", "b", "c", "a"].into_iter().enumerate();
            tags.filter(|(n, _)| bits >> (n % 3) & 1 == 1).map(|(_, tag)| tag.to_owned()).collect()
        };
        let id = RoomId::parse(format!("song{source}")).unwrap();
        let first = |version| Song::first(id.clone(), id, tags(version), 0);
        let song = match self.0.get(&source) {
            // Only the count changes.
            Some(SongsItem::Song(song)) if song.favourites < song.version => {
                Song { favourites: song.favourites + 1, ..song.clone() }
            }
            Some(SongsItem::Song(song)) => Song { tags: tags(song.version + 1), ..song.next() },
            Some(SongsItem::DeletedSong(deleted)) => {
                first(deleted.version + 1).replacing(Some(deleted))
            }
            _ => first(1),
        };
        self.set(source, song.into())
    }

    fn delete(&mut self, source: u8) -> Option<Value> {
        let Some(SongsItem::Song(song)) = self.0.get(&source) else { return None };
        let tombstone = song.tombstone();
        Some(self.set(source, tombstone.into()))
    }
}

impl SongWriter {
    fn set(&mut self, source: u8, item: SongsItem) -> Value {
        let state = serde_json::to_value(&item).unwrap();
        self.0.insert(source, item);
        state
    }
}

#[test]
fn the_tags_of_songs_are_counted_as_their_definition_says() {
    proof::aggregate::<SongWriter, SongTags>("room-counts").unwrap();
}
