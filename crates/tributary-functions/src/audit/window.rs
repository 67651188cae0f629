//! The audit of a window, from its definition.
//!
//! | part | check | repair |
//! | --- | --- | --- |
//! | one of the newest sources | it is a member under its date, with its copy | the projection applies the source; the member is removed and admitted again; the copy is written |
//! | another member | its source exists, and the copy is right | the member is removed, and the window is refilled |
//! | another copy | it is the copy of a member | the copy is deleted |
//! | the head | no refill is due | the refill |
//!
//! A check reads the sources first, then the head, then the copies. A repair of the membership replaces the head
//! under its ETag. A domain names the window in [`Checks::groups`](super::Checks::groups).

use std::collections::HashMap;

use serde_json::Value;

use super::{
    CheckResults, Finding, FindingKind, Obstacle, RepairResult, Slot, Suspect, Target, compare,
    read_slot, version_text,
};
use crate::{
    cosmos::{Container, ETag, JsonText, Query, Scope, StoreError, Stored, Transaction},
    projection::{
        ChangeFeedItem, Origin, Projection,
        window::{
            Member, SourceState, Window, WindowHead, WindowItem, WindowProjection, newest, write,
        },
    },
};

/// The most copies that one audit checks. The next audit finds the remaining ones.
const MAX_COPIES: u32 = 1_000;

const PAGE_ITEMS: u32 = 100;

/// The checks of one window.
pub struct WindowChecks<W> {
    projection: WindowProjection<W>,
    group: &'static str,
}

struct ExpectedMember {
    member: Member,
    version: u64,
    copy: Value,
}

struct StoredMember {
    version: Option<u64>,
    stored: Value,
    etag: String,
}

impl ExpectedMember {
    fn from_change<W: Window>(change: &W::Change) -> Option<Self> {
        let origin = change.origin()?;
        let source = W::source(change)?;
        let member = Member { creation_date: W::creation_date(source), id: origin.name() };
        let copy = serde_json::to_value(W::copy(source)).ok()?;
        Some(Self { member, version: origin.version, copy })
    }
}

impl<W: Window> WindowChecks<W> {
    /// Creates the checks of a window from a container of sources, by the name of its group.
    pub fn new(group: &'static str, sources: &Container, window: &Container) -> Self {
        Self { projection: WindowProjection::new(sources, window), group }
    }

    /// Compares the whole window with the newest sources. Where a member is too old, a newer one is missing.
    pub async fn check(&self) -> CheckResults {
        let newest = self.newest().await?;
        let (head, head_etag) =
            match read_slot::<WindowHead>(&self.projection.window, W::PARTITION, WindowHead::ID)
                .await?
            {
                Slot::Item(Stored { item, etag }) => (item, etag.to_string()),
                Slot::Empty => (WindowHead::default(), String::new()),
                Slot::Unreadable(etag) => {
                    let words = ("the head of the window", "something else");
                    let etag = etag.to_string();
                    let id = WindowHead::ID;
                    return Ok(vec![self.suspect(FindingKind::UNREADABLE, id, words, etag)]);
                }
            };
        let mut copies = self.copies().await?;

        let mut suspects = Vec::new();
        if head.refill {
            let words = ("a window that is full", "a note to refill it");
            let id = WindowHead::ID;
            suspects.push(self.suspect(FindingKind::REFILL_PENDING, id, words, head_etag));
        }
        for expected in &newest {
            let Member { creation_date, id } = &expected.member;
            // The date distinguishes the source from earlier and later ones under this id.
            let date = creation_date.to_string();
            if let Some(found) = head.members().iter().find(|member| member.id == *id) {
                if *found != expected.member {
                    let found = found.creation_date.to_string();
                    let evidence = format!("{date} {found}");
                    let words = (date, found);
                    suspects.push(self.suspect(FindingKind::MEMBER_DIFFERENT, id, words, evidence));
                }
                suspects.extend(self.check_member(expected, copies.remove(id)));
            } else if head.admits(&expected.member, W::CAPACITY as usize) && !head.refill {
                let words = (version_text(expected.version), "no member");
                suspects.push(self.suspect(FindingKind::MEMBER_MISSING, id, words, date));
            }
        }
        let others = head.members().iter().filter(|m| newest.iter().all(|n| n.member.id != m.id));
        for Member { id, creation_date } in others {
            let (copy, (partition, source)) = (copies.remove(id), Origin::split_name(id));
            let source =
                match read_slot::<W::Change>(&self.projection.sources, partition, source).await? {
                    Slot::Item(Stored { item, .. }) => ExpectedMember::from_change::<W>(&item),
                    Slot::Unreadable(_) => continue,
                    Slot::Empty => None,
                };
            if let Some(expected) = source {
                suspects.extend(self.check_member(&expected, copy));
            } else {
                let words = ("no member", "a member without a source");
                let date = creation_date.to_string();
                suspects.push(self.suspect(FindingKind::MEMBER_EXTRA, id, words, date));
            }
        }
        // Stray copies come first: one may have the id of a source that has to be admitted.
        let strays = copies.into_iter().map(|(id, copy)| match copy.version {
            Some(known) => {
                let words = ("none", format!("{} of no member", version_text(known)));
                self.suspect(FindingKind::COPY_EXTRA, &id, words, copy.etag)
            }
            None => self.unreadable(&id, copy.etag),
        });
        Ok(strays.chain(suspects).collect())
    }

    async fn newest(&self) -> Result<Vec<ExpectedMember>, StoreError> {
        // The copy is made at once: it may be much smaller than its source.
        let expected = |source: JsonText| ExpectedMember::from_change::<W>(&source.parse()?);
        let member = |expected: &ExpectedMember| expected.member.clone();
        newest::<W, _, _>(&self.projection.sources, W::CAPACITY, expected, member).await
    }

    async fn copies(&self) -> Result<HashMap<String, StoredMember>, StoreError> {
        let query = Query::from("SELECT TOP @copies * FROM c WHERE IS_DEFINED(c.creationDate)")
            .with_parameter("@copies", MAX_COPIES)?;
        let scope = Scope::Partition(W::PARTITION);
        let items: Vec<JsonText> = self.projection.window.query(query, scope, PAGE_ITEMS).await?;
        let text = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let copies = items.into_iter().map(|copy| {
            let stored: Value = copy.parse().unwrap_or_default();
            let id = text(&stored, "id");
            let etag = text(&stored, "_etag");
            let is_copy = copy.parse::<W::Copy>().is_some();
            let version = stored["version"].as_u64().filter(|_| is_copy);
            (id, StoredMember { version, stored, etag })
        });
        Ok(copies.collect())
    }

    fn check_member(
        &self,
        expected: &ExpectedMember,
        copy: Option<StoredMember>,
    ) -> Option<Suspect> {
        let Member { creation_date, id } = &expected.member;
        let Some(StoredMember { version: found, stored, etag }) = copy else {
            let words = (version_text(expected.version), "none");
            let date = creation_date.to_string();
            return Some(self.suspect(FindingKind::COPY_MISSING, id, words, date));
        };
        let Some(found) = found else { return Some(self.unreadable(id, etag)) };
        let (kind, words) = compare((expected.version, &expected.copy), (found, &stored))?;
        Some(self.suspect(kind, id, words, etag))
    }

    fn unreadable(&self, id: &str, etag: String) -> Suspect {
        self.suspect(FindingKind::UNREADABLE, id, ("a copy", "something else"), etag)
    }

    fn suspect(
        &self,
        kind: FindingKind,
        id: &str,
        (expected, found): (impl Into<String>, impl Into<String>),
        evidence: String,
    ) -> Suspect {
        let finding = Finding {
            kind,
            container: self.projection.window.id(),
            partition_key: W::PARTITION.to_owned(),
            id: id.to_owned(),
            expected: expected.into(),
            found: found.into(),
            repair: None,
        };
        Suspect { target: Target::Group(self.group), finding, evidence }
    }

    /// Repairs a suspect of [`Self::check`].
    pub async fn repair(&self, suspect: &Suspect) -> RepairResult {
        let id = suspect.finding.id.as_str();
        match suspect.finding.kind {
            FindingKind::REFILL_PENDING => {
                self.projection.refill().await?;
                Ok("refilled the window")
            }
            FindingKind::MEMBER_MISSING => {
                self.projection.apply(&self.live_source(id).await?).await?;
                Ok("took the source in")
            }
            FindingKind::MEMBER_DIFFERENT => self.write_member(id, true).await,
            FindingKind::MEMBER_EXTRA => self.remove_member(id).await,
            FindingKind::COPY_EXTRA => {
                // The copy belongs to no member: readers should not see it.
                let seen = ETag::from(suspect.evidence.clone());
                self.projection.window.delete(W::PARTITION, id, &seen).await?;
                Ok("deleted the copy")
            }
            FindingKind::UNREADABLE if id == WindowHead::ID => Err(Obstacle::NeedsOperator(
                "the members are not known: delete the head and all copies, and restart the lease of the projection",
            )),
            FindingKind::UNREADABLE if !self.read_head().await?.0.contains(id) => {
                Err(Obstacle::NeedsOperator("it is no copy of a member: delete it"))
            }
            _ => self.write_member(id, false).await,
        }
    }

    async fn remove_member(&self, id: &str) -> RepairResult {
        let ((head, etag), copy) = (self.read_head().await?, self.copy_etag(id).await?);
        let transaction = replace_head::<W>(head.remove(id, W::CAPACITY as usize), &etag)?;
        let transaction = match (self.read_source(id).await?, copy) {
            (Some(source), _) if W::source(&source).is_some() => return Err(Obstacle::Race),
            (Some(tombstone), copy) => {
                let state = SourceState::from_change::<W>(tombstone).ok_or(Obstacle::Race)?;
                write::<W>(transaction, &state, copy.as_ref())?
            }
            (None, Some(etag)) => transaction.delete(id, Some(&etag)),
            (None, None) => transaction,
        };
        self.projection.window.transact(transaction).await?;
        self.projection.refill().await?;
        Ok("took the member out")
    }

    /// Where it `readmits` the member, that gets its right date; other sources may belong into a full window now.
    async fn write_member(&self, id: &str, readmits: bool) -> RepairResult {
        let ((mut head, etag), copy) = (self.read_head().await?, self.copy_etag(id).await?);
        let source = self.live_source(id).await?;
        if !head.contains(id) {
            return Err(Obstacle::Race);
        }
        let capacity = W::CAPACITY as usize;
        let state = SourceState::from_change::<W>(source).ok_or(Obstacle::Race)?;
        if readmits {
            let member = state.member().ok_or(Obstacle::Race)?;
            head = head.remove(id, capacity).admit(member, capacity);
        }
        let transaction = write::<W>(replace_head::<W>(head, &etag)?, &state, copy.as_ref())?;
        self.projection.window.transact(transaction).await?;
        if !readmits {
            return Ok("wrote the copy");
        }
        self.projection.refill().await?;
        Ok("wrote the member")
    }

    async fn read_head(&self) -> Result<(WindowHead, ETag), Obstacle> {
        match read_slot(&self.projection.window, W::PARTITION, WindowHead::ID).await? {
            Slot::Item(Stored { item, etag }) => Ok((item, etag)),
            _ => Err(Obstacle::Race),
        }
    }

    async fn copy_etag(&self, id: &str) -> Result<Option<ETag>, StoreError> {
        Ok(match read_slot::<Value>(&self.projection.window, W::PARTITION, id).await? {
            Slot::Item(Stored { etag, .. }) | Slot::Unreadable(etag) => Some(etag),
            Slot::Empty => None,
        })
    }

    async fn read_source(&self, name: &str) -> Result<Option<W::Change>, Obstacle> {
        let (partition, id) = Origin::split_name(name);
        match read_slot(&self.projection.sources, partition, id).await? {
            Slot::Item(Stored { item, .. }) => Ok(Some(item)),
            Slot::Empty => Ok(None),
            Slot::Unreadable(_) => Err(Obstacle::NeedsOperator(
                "its source cannot be read: repair or delete that first",
            )),
        }
    }

    async fn live_source(&self, name: &str) -> Result<W::Change, Obstacle> {
        let source = self.read_source(name).await?.filter(|change| W::source(change).is_some());
        source.ok_or(Obstacle::Race)
    }
}

fn replace_head<W: Window>(head: WindowHead, etag: &ETag) -> Result<Transaction, StoreError> {
    let head = WindowItem::new(W::PARTITION, head);
    Transaction::new(W::PARTITION).replace(WindowHead::ID, &head, etag)
}
