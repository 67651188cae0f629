//! A table of the situations of an attempt: its reads, and its next step.

use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::model::{Content, Metadata, ProviderId, SourceUrl, Title};

const NOW: &str = "2026-11-20T12:00:00Z";

fn now() -> Timestamp {
    Timestamp::parse(NOW).unwrap()
}

fn days_ago(days: u64) -> Timestamp {
    now().before(Duration::from_hours(24 * days))
}

fn new(days: u64) -> NewItem {
    NewItem {
        feed_provider_id: ProviderId::parse("gazette".into()).unwrap(),
        title: Title::parse("New".into()).unwrap(),
        content: Content::parse("Text".into()).unwrap(),
        published_date: days_ago(days),
        source_url: SourceUrl::parse("https://example.com/a".into()).unwrap(),
        tags: Vec::new(),
        metadata: Metadata::default(),
    }
}

fn place(tier: Tier, days: u64) -> Place {
    let class = Strategy::Hybrid { high_volume: [].into() };
    let class = class.class(&new(days).feed_provider_id);
    Place { tier, partition_key: class.key(&new(days).feed_provider_id, days_ago(days)) }
}

fn command(name: &str) -> CommandId {
    CommandId::from_text(name)
}

/// The reads of an attempt for an item of gazette, whose partitions are the quarters of 2026.
struct Situation {
    reads_so_far: AttemptReads,
    reads: Reads,
}

/// The attempt has read nothing.
fn nothing() -> Situation {
    Situation { reads_so_far: AttemptReads::default(), reads: Reads::Session }
}

/// There is no location.
fn unknown() -> Situation {
    let reads_so_far = AttemptReads { location: Lookup::Missing, ..AttemptReads::default() };
    Situation { reads_so_far, ..nothing() }
}

/// The location names the place of an item of this age.
fn located(tier: Tier, days: u64) -> Situation {
    let place = place(tier, days);
    let id = new(days).id().to_string();
    let item = Location { id: id.clone(), partition_key: id, place, version: 1 };
    let location = Lookup::Found(Stored { item, etag: ETag::from("location") });
    Situation { reads_so_far: AttemptReads { location, ..AttemptReads::default() }, ..nothing() }
}

/// The location names a place in which the item is not.
fn left(tier: Tier, days: u64) -> Situation {
    let mut situation = located(tier, days);
    situation.reads_so_far.found = Lookup::Missing;
    situation
}

/// There is an item of this age, with other properties than a new one has.
fn found(tier: Tier, days: u64, properties: &Value) -> Situation {
    let public = new(days).stored_in(place(tier, days).partition_key, days_ago(days));
    let mut item = serde_json::to_value(StoredItem::new(public, command("first"))).unwrap();
    item.as_object_mut().unwrap().extend(properties.as_object().unwrap().clone());
    let stored = Stored { item: serde_json::from_value(item).unwrap(), etag: ETag::from("item") };
    let mut situation = located(tier, days);
    situation.reads_so_far.found = Lookup::Found(FoundItem { tier, stored });
    situation
}

impl Situation {
    fn latest(mut self) -> Self {
        self.reads = Reads::Latest;
        self
    }

    /// The migration has come as far as items of this age.
    fn migrated(mut self, days: u64) -> Self {
        self.reads_so_far.migrated = Some(days_ago(days));
        self
    }

    fn without_carried_copy(mut self) -> Self {
        self.reads_so_far.has_no_carried_copy = true;
        self
    }

    /// Returns, in words, the next step of a command that posts an item of this age.
    fn next(&self, days: u64) -> String {
        let decision = Decision {
            new: &new(days),
            command: &command("this"),
            strategy: &Strategy::Hybrid { high_volume: [].into() },
            ages: &Ages { migrate_after: Duration::from_hours(24 * 30), archive_after_years: 2 },
            reads: self.reads,
            now: now(),
        };
        in_words(decision.next(&self.reads_so_far))
    }
}

fn in_words(step: SaveStep) -> String {
    let at = |Place { tier, partition_key }| format!("{} {partition_key}", Tier::as_str(tier));
    match step {
        SaveStep::ReadLocation => "read location".to_owned(),
        SaveStep::Find(key) => format!("find in {key}"),
        SaveStep::ReadProgress => "read progress".to_owned(),
        SaveStep::RemoveCarried { partition_key, tiers } => {
            format!("remove carried copies of {partition_key}: {tiers:?}")
        }
        SaveStep::Confirm => "confirm".to_owned(),
        SaveStep::EndMove(from) => format!("end move from {}", at(from)),
        SaveStep::EndMoveToColder { from, to } => {
            format!("end the move from {} to {}", at(from), to.as_str())
        }
        SaveStep::Create(place) => format!("create in {}", at(place)),
        SaveStep::CreateAgain { place, former: None, .. } => {
            format!("create again in {}", at(place))
        }
        SaveStep::CreateAgain { place, former: Some(former), .. } => {
            format!("create again in {}, not in {}", at(place), at(former))
        }
        SaveStep::Edit { tier, item, .. } => {
            assert!(item.knows(&command("this")) && item.public.title.as_str() == "New");
            format!("edit in {} as version {}", tier.as_str(), item.version)
        }
        SaveStep::Move { here, item, departure, .. } => {
            assert!(departure.command == command("this") && item.item.version == 1);
            assert_eq!(departure.item.partition_key, departure.to.partition_key);
            format!("move from {} to {}", at(here), at(departure.to))
        }
        SaveStep::Created(_) => "created before".to_owned(),
        SaveStep::Edited(_) => "edited before".to_owned(),
    }
}

#[test]
fn an_attempt_reads_the_location_then_the_item() {
    assert_eq!(nothing().next(1), "read location");
    assert_eq!(located(Tier::Hot, 60).next(1), "find in gazette_2026-Q3");
}

#[test]
fn a_first_post_creates_the_item_where_its_age_belongs() {
    for (situation, days, step) in [
        (unknown(), 1, "create in hot gazette_2026-Q4"),
        (unknown(), 60, "read progress"),
        (unknown().migrated(32), 60, "create in warm gazette_2026-Q3"),
        (unknown().migrated(32), 20, "create in hot gazette_2026-Q4"),
        // The migration has come beyond the item, at a lower age in the settings.
        (unknown().migrated(15), 20, "create in warm gazette_2026-Q4"),
        (unknown().migrated(32), 1_000, "create in archive gazette_2024-Q1"),
    ] {
        assert_eq!(situation.next(days), step);
    }
}

#[test]
fn an_item_that_was_not_created_is_created_again_and_kept_out_of_its_former_place() {
    for (situation, days, step) in [
        (left(Tier::Hot, 1), 1, "confirm"),
        (left(Tier::Hot, 1).latest(), 1, "create again in hot gazette_2026-Q4"),
        (left(Tier::Hot, 1).latest(), 60, "read progress"),
        (
            left(Tier::Hot, 1).latest().migrated(32),
            60,
            "create again in warm gazette_2026-Q3, not in hot gazette_2026-Q4",
        ),
        (
            left(Tier::Warm, 1).latest(),
            1,
            "create again in hot gazette_2026-Q4, not in warm gazette_2026-Q4",
        ),
    ] {
        assert_eq!(situation.next(days), step);
    }
}

#[test]
fn a_command_that_comes_again_changes_nothing() {
    for (properties, step) in [
        (json!({"createdBy": command("this")}), "created before"),
        (json!({"recent": [[command("this"), i64::MAX]]}), "edited before"),
        (json!({"recent": [[command("other"), i64::MAX]]}), "edit in hot as version 2"),
    ] {
        assert_eq!(found(Tier::Hot, 1, &properties).next(1), step);
    }
    let mut known = departing();
    known["recent"] = json!([[command("this"), i64::MAX]]);
    assert_eq!(found(Tier::Hot, 1, &known).next(1), "edited before");
}

/// The properties of an item that is about to move to the warm container.
fn departing() -> Value {
    let to = place(Tier::Warm, 60);
    let item = new(60).stored_in(to.partition_key.clone(), now());
    json!({"state": "departing", "departure": {"to": to, "item": item, "command": command("move")}})
}

#[test]
fn a_move_that_has_begun_is_ended_first() {
    let arrived = |version: u64| {
        let mut from = serde_json::to_value(place(Tier::Warm, 20)).unwrap();
        from["version"] = json!(version);
        json!({"version": version, "arrivedFrom": from})
    };
    for (properties, step) in [
        (departing(), "end move from hot gazette_2026-Q4"),
        // The location has version 1.
        (arrived(2), "end move from warm gazette_2026-Q4"),
        (arrived(1), "edit in hot as version 2"),
    ] {
        assert_eq!(found(Tier::Hot, 1, &properties).next(1), step);
    }
    // In every case, whatever the next step of the command is.
    assert_eq!(found(Tier::Hot, 1, &departing()).next(60), "end move from hot gazette_2026-Q4");
    assert_eq!(found(Tier::Hot, 1, &arrived(2)).next(60), "end move from warm gazette_2026-Q4");
}

#[test]
fn an_edit_without_another_date_stays_where_it_is() {
    for (tier, days) in [(Tier::Hot, 1), (Tier::Hot, 60), (Tier::Warm, 60), (Tier::Archive, 1_000)]
    {
        let step = format!("edit in {} as version 2", tier.as_str());
        assert_eq!(found(tier, days, &json!({})).next(days), step);
    }
}

#[test]
fn an_item_whose_date_changes_ends_its_move_and_leaves_no_carried_copy() {
    let item = |tier, days| found(tier, days, &json!({})).migrated(32);
    for (situation, days, step) in [
        (found(Tier::Hot, 1, &json!({})), 0, "edit in hot as version 2"),
        (found(Tier::Hot, 1, &json!({})), 60, "read progress"),
        (item(Tier::Hot, 1), 60, "move from hot gazette_2026-Q4 to warm gazette_2026-Q3"),
        (found(Tier::Hot, 31, &json!({})), 1, "read progress"),
        (item(Tier::Hot, 31), 1, "end the move from hot gazette_2026-Q4 to warm"),
        (item(Tier::Hot, 20).migrated(15), 1, "end the move from hot gazette_2026-Q4 to warm"),
        (item(Tier::Warm, 1_000), 1, "end the move from warm gazette_2024-Q1 to archive"),
        (item(Tier::Warm, 60), 1, "remove carried copies of gazette_2026-Q3: [Hot]"),
        (item(Tier::Archive, 1_000), 1, "remove carried copies of gazette_2024-Q1: [Warm, Hot]"),
        (item(Tier::Warm, 60).without_carried_copy(), 61, "edit in warm as version 2"),
        (
            item(Tier::Warm, 60).without_carried_copy(),
            1,
            "move from warm gazette_2026-Q3 to hot gazette_2026-Q4",
        ),
        (
            item(Tier::Warm, 40).without_carried_copy(),
            1,
            "move from warm gazette_2026-Q4 to hot gazette_2026-Q4",
        ),
        (
            item(Tier::Archive, 1_000).without_carried_copy(),
            60,
            "move from archive gazette_2024-Q1 to warm gazette_2026-Q3",
        ),
    ] {
        assert_eq!(situation.next(days), step);
    }
}
