//! The audit of an aggregate, from its definition: each source has its share, each share a source that
//! contributes to its key, each total the sum of its shares. A repair writes a share and its total in one
//! transaction, or the total under its ETag.

use super::{
    AuditedItem, CheckResults, Checks, FindingKind, Obstacle, RepairResult, Suspect, async_trait,
};
use crate::{
    cosmos::{Container, StoreError, Stored},
    projection::{
        ChangeFeedItem, Projection,
        aggregate::{
            Aggregate, AggregateProjection, Contribution, Share, Total, contributions,
            repair_share, repair_total, sum_of_shares,
        },
    },
};

pub(super) struct AggregateChecks<A>(pub(super) AggregateProjection<A>);

impl<A: Aggregate> AggregateChecks<A> {
    async fn check_source(&self, audited: &AuditedItem) -> CheckResults {
        let change: A::Change = match audited.parse() {
            Ok(change) => change,
            Err(unreadable) => return Ok(unreadable),
        };
        let Some(origin) = change.origin() else { return Ok(Vec::new()) };
        let mut suspects = Vec::new();
        for Contribution { key, amount } in contributions::<A>(&change) {
            let id = Share::id(&origin.name());
            let share: Option<Stored<Share>> = self.0.totals.read(&key, &id).await?;
            let (kind, found, etag) = match share {
                Some(Stored { item, .. }) if item.amount == amount => continue,
                Some(Stored { item, etag }) => {
                    (FindingKind::COPY_DIFFERENT, item.amount.to_string(), etag.to_string())
                }
                None => (FindingKind::COPY_MISSING, "none".to_owned(), String::new()),
            };
            let location = (self.0.totals.id(), key, id);
            let words = (amount.to_string(), found);
            let evidence = format!("{} {etag}", audited.etag);
            suspects.push(audited.suspect_at(kind, location, words, evidence));
        }
        Ok(suspects)
    }

    async fn check_total(&self, audited: &AuditedItem) -> CheckResults {
        let key = &audited.partition_key;
        if let Some(source) = Share::source(&audited.id) {
            let share: Share = match audited.parse() {
                Ok(share) => share,
                Err(unreadable) => return Ok(unreadable),
            };
            let source = self.source(source).await?;
            let contributes = amount::<A>(source.as_ref(), key).is_some();
            let mut suspects = Vec::new();
            if share.amount != 0 && !contributes {
                let words = ("none", share.amount.to_string());
                suspects.push(audited.suspect(FindingKind::COPY_EXTRA, words, &audited.etag));
            }
            let total: Option<Stored<Total>> = self.0.totals.read(key, Total::ID).await?;
            if share.amount != 0 && total.is_none() {
                let location = (self.0.totals.id(), key.clone(), Total::ID.to_owned());
                let words = ("a total", "none");
                suspects.push(audited.suspect_at(FindingKind::COUNT_DIFFERS, location, words, ""));
            }
            return Ok(suspects);
        }
        if audited.id != Total::ID {
            return Ok(Vec::new());
        }
        // The total is read before its shares.
        let Some(total) = self.0.totals.read::<Total>(key, Total::ID).await? else {
            return Ok(Vec::new());
        };
        let sum = sum_of_shares(&self.0.totals, key).await?;
        if total.item.value == sum {
            return Ok(Vec::new());
        }
        let words = (sum.to_string(), total.item.value.to_string());
        let evidence = format!("{} {sum}", total.etag);
        Ok(vec![audited.suspect(FindingKind::COUNT_DIFFERS, words, evidence)])
    }

    async fn source(&self, (partition, id): (&str, &str)) -> Result<Option<A::Change>, StoreError> {
        let sources = self.0.sources.latest_committed();
        let source: Option<Stored<A::Change>> = sources.read(partition, id).await?;
        Ok(source.map(|source| source.item))
    }

    async fn repair_share(&self, key: &str, id: &str) -> RepairResult {
        let source = self.source(Share::source(id).ok_or(Obstacle::Race)?).await?;
        if let Some(source) = &source {
            self.0.apply(source).await?;
        }
        let origin = source.as_ref().and_then(A::Change::origin);
        let version = origin.map_or(0, |origin| origin.version);
        let amount = amount::<A>(source.as_ref(), key).unwrap_or_default();
        repair_share(&self.0.totals, (key, id), version, amount).await?;
        Ok("wrote the share and its total")
    }
}

fn amount<A: Aggregate>(source: Option<&A::Change>, key: &str) -> Option<i64> {
    let contributions = contributions::<A>(source?);
    contributions.into_iter().find(|share| share.key == key).map(|share| share.amount)
}

#[async_trait]
impl<A: Aggregate> Checks for AggregateChecks<A> {
    fn containers(&self) -> Vec<(&Container, &'static str)> {
        vec![(&self.0.sources, A::Change::PARTITION_KEY), (&self.0.totals, "key")]
    }

    async fn check_item(&self, audited: &AuditedItem, _fresh: bool) -> CheckResults {
        if audited.container == self.0.sources.id() {
            self.check_source(audited).await
        } else {
            self.check_total(audited).await
        }
    }

    async fn repair(&self, suspect: &Suspect) -> RepairResult {
        let finding = &suspect.finding;
        match finding.kind {
            FindingKind::COUNT_DIFFERS => {
                repair_total(&self.0.totals, &finding.partition_key).await?;
                Ok("wrote the total")
            }
            FindingKind::COPY_MISSING | FindingKind::COPY_DIFFERENT | FindingKind::COPY_EXTRA => {
                self.repair_share(&finding.partition_key, &finding.id).await
            }
            _ => {
                Err(Obstacle::NeedsOperator("it cannot be read: delete it, and replay its source"))
            }
        }
    }
}
