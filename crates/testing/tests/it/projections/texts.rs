//! Texts through create, trigger, copies, queries and the replay of a dead letter, under a host that
//! leaves dates alone and under one that rewrites them.

use std::{fs, path::Path};

use proptest::{prelude::*, sample::select};
use serde_json::Value;
use tributary_functions::values::may_be_rewritten_by_host;
use tributary_local::host::newtonsoft::rewritten_date;

use crate::{World, given};

fn recorded() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("../local/tests/recorded/trigger-texts.json");
    let recorded: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let items = recorded["items"].as_array().unwrap().iter();
    let items = items.map(|item| serde_json::from_str(item["stored"].as_str().unwrap()).unwrap());
    let texts: Vec<String> = items
        .flat_map(|item: serde_json::Map<String, Value>| item.into_iter())
        .filter_map(|(_, value)| value.as_str().map(str::to_owned))
        .collect();
    assert!(texts.len() > 30, "{texts:?}");
    texts
}

/// Generates a text that Newtonsoft parses as a date, or one close to it.
fn date() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[0-9]{4}-(0[1-9]|1[0-3])-[0-3][0-9]T(24:00:00|[0-2][0-9]:[0-5][0-9]:[0-5][0-9]([.][0-9]{0,9})?)\
              (Z|z|[+-][0-9]{2}(:?[0-9]{2})?|[0-9]{2})?",
        2 => "/Date\\(-?[0-9]{1,15}([+-][0-9]{0,4})?\\)/",
        1 => select(recorded()),
    ]
}

#[derive(Debug, Clone)]
struct Texts {
    names: [String; 2],
    titles: [String; 2],
    purpose: String,
}

/// Returns the recorded texts that are titles, names and purposes, five for each person.
fn texts() -> Vec<Texts> {
    // Two of them stop the trigger of a host that parses dates.
    let odd = ["9999-12-31T24:00:00Z", "/Date(500000000000000)/", "\u{85}\"\\/<>&'\u{2028}\u{7f}"];
    let mut texts = [odd.map(str::to_owned).to_vec(), recorded()].concat();
    texts.retain(|text| (1..=100).contains(&text.chars().count()));
    let people = texts.chunks_exact(5).map(|five| {
        let [a, b, c, d, purpose] = five.to_vec().try_into().unwrap();
        Texts { names: [a, b], titles: [c, d], purpose }
    });
    // The list of the newest rooms has 10.
    people.take(10).collect()
}

impl Texts {
    /// Returns true if a host that parses dates can deliver them.
    fn are_readable(&self) -> bool {
        let Self { names, titles, purpose } = self;
        let all = [names, titles].into_iter().flatten().chain([purpose]);
        all.into_iter().all(|text| rewritten_date(text).is_ok())
    }

    async fn write(&self, world: &World, id: &str, round: usize) {
        let status = if round == 0 { 201 } else { 200 };
        given::person(world, id, &self.names[round]).await.expect(status);
        given::titled(world, id, id, &self.titles[round]).await.expect(status);
        if round == 0 {
            given::booking_for(world, id, id, &self.purpose).await.expect(201);
        }
    }

    async fn are_shown(&self, world: &World, id: &str, round: usize) {
        let room = world.get(&format!("/api/rooms/{id}")).await.expect(200).json();
        assert_eq!(room["personName"], self.names[round]);
        assert_eq!(room["title"], self.titles[round]);
        let bookings = world.list(&format!("/api/rooms/{id}/bookings")).await;
        assert_eq!(bookings[0]["purpose"], self.purpose);
        let rooms = world.list(&format!("/api/people/{id}/rooms")).await;
        assert_eq!(rooms, std::slice::from_ref(&room));
        let newest = world.list("/api/newest-rooms").await;
        assert!(newest.contains(&room), "{room} in {newest:?}");
    }
}

async fn live(world: &World, all: &[Texts]) {
    let people = || all.iter().enumerate().map(|(n, texts)| (format!("p{n}"), texts));
    for round in 0..2 {
        for (id, texts) in people() {
            texts.write(world, &id, round).await;
        }
        world.settle().await;
        for (id, texts) in people() {
            texts.are_shown(world, &id, round).await;
        }
        assert!(world.items("dead-letters").await.is_empty());
    }
    copies_are_replayed(world).await;
    for (id, texts) in people() {
        texts.are_shown(world, &id, 1).await;
    }
}

/// Makes every copy beside its person unreadable, delivers the rooms, and replays the dead letters.
async fn copies_are_replayed(world: &World) {
    let mut copies = world.items("people").await;
    copies.retain(|item| item["type"] == "room");
    for copy in &copies {
        let mut spoilt = copy.clone();
        spoilt["version"] = "spoilt".into();
        world.write_item("people", &spoilt).await;
    }
    let mut rooms = world.items("rooms").await;
    rooms.retain(|item| item["type"] == "room");
    world.deliver("RoomCopies", &rooms).await.unwrap();
    let dead_letters = world.list("/api/dead-letters").await;
    assert_eq!(dead_letters.len(), copies.len());
    for copy in &copies {
        let [person, id] = ["personId", "id"].map(|name| copy[name].as_str().unwrap());
        world.delete_item("people", person, id).await;
    }
    for dead_letter in dead_letters {
        let outcome = given::replay(world, &dead_letter).await.expect(200).json();
        assert_eq!(outcome["outcome"], "applied");
    }
}

#[tokio::test]
async fn every_text_is_shown_and_copied_as_it_was_written() {
    let mut all = texts();
    live(&World::new().await, &all).await;
    all.retain(Texts::are_readable);
    live(&World::new().await.with_host_that_parses_dates(), &all).await;
}

proptest! {
    #[test]
    fn a_text_that_the_host_has_rewritten_is_recognised_by_its_form(text in date()) {
        if let Ok(Some(delivered)) = rewritten_date(&text) {
            prop_assert!(may_be_rewritten_by_host(&delivered), "{text} came as {delivered}");
        }
    }
}
