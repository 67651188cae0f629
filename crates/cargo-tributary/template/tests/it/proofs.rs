//! The projection under the proof: late, duplicate and out-of-order deliveries, to two instances, one of
//! which is killed.

use std::collections::BTreeMap;

use serde_json::Value;
use tributary_functions::values::CommandId;
use tributary_testing::proof::{self, Sources};

use my_app::notes::{Note, NoteCounts, NoteId, NoteText, NotesItem, OwnerId};

use crate::App;

/// The items of `notes`, as the commands write them.
#[derive(Default)]
struct Writer(BTreeMap<(u8, u8), NotesItem>);

impl Sources for Writer {
    type App = App;
    const CONTAINER: &'static str = "notes";
    const PARTITION_KEY: &'static str = "ownerId";

    fn write(&mut self, source: u8, owner: u8) -> Value {
        let ids = (
            OwnerId::parse(format!("o{owner}")).unwrap(),
            NoteId::parse(format!("n{source}")).unwrap(),
        );
        let text = NoteText::parse("A note".into()).unwrap();
        let command = CommandId::fresh();
        let note = match self.0.get(&(source, owner)) {
            Some(NotesItem::Note(note)) => note.edited(text, &command),
            Some(NotesItem::DeletedNote(before)) => Note::new(ids, text, Some(before), &command),
            None => Note::new(ids, text, None, &command),
        };
        self.keep(source, owner, NotesItem::Note(note))
    }

    fn delete(&mut self, source: u8) -> Option<Value> {
        let live = self.0.iter().find_map(|(&(id, owner), item)| match item {
            NotesItem::Note(note) if id == source => Some((owner, note.clone())),
            _ => None,
        });
        let (owner, note) = live?;
        let tombstone = note.deleted(&CommandId::fresh());
        Some(self.keep(source, owner, NotesItem::DeletedNote(tombstone)))
    }
}

impl Writer {
    fn keep(&mut self, source: u8, owner: u8, item: NotesItem) -> Value {
        let stored = serde_json::to_value(&item).unwrap();
        self.0.insert((source, owner), item);
        stored
    }
}

#[test]
fn the_counts_are_true_whatever_is_delivered() {
    proof::aggregate::<Writer, NoteCounts>("note-counts").unwrap();
}
