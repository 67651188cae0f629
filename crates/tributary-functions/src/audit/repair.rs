//! Repairs, with the guards that commands and projections use: each write is made under the ETag, or the absence,
//! of the item that it replaces. A copy is read before its source, so the new copy is never older. Another write
//! in between makes the repair fail, and everything is checked again.

use std::time::Duration;

use super::{AuditedItem, CheckResults, Checks, Obstacle, Suspect, Target, finding::Repair};
use crate::cosmos::{JsonText, Retryable, StoreError, Stored, retry};

const MAX_REPAIR_ATTEMPTS: usize = 10;

const REPAIR_PAUSE: Duration = Duration::from_millis(20);

/// Another repair may have changed the kind of the divergence meanwhile: then its present kind is repaired.
pub(super) async fn repair(checks: &dyn Checks, suspect: &Suspect) -> Result<Repair, StoreError> {
    let not_repaired = |why: String| Repair { repaired: false, what: why };
    let mut what = "it was repaired meanwhile";
    for _ in 0..MAX_REPAIR_ATTEMPTS {
        let now = retry_transient(|| recheck(checks, &suspect.target)).await?;
        let Some(remains) = now.iter().find(|now| now.remains_from(suspect)) else {
            return Ok(Repair { repaired: true, what: what.to_owned() });
        };
        match checks.repair(remains).await {
            Ok(done) => what = done,
            Err(Obstacle::Race) => tokio::time::sleep(REPAIR_PAUSE).await,
            Err(Obstacle::NeedsOperator(why)) => return Ok(not_repaired(why.to_owned())),
            Err(Obstacle::Store(error)) if error.is_transient() => return Err(error),
            Err(Obstacle::Store(error)) => {
                return Ok(not_repaired(format!("the store refused it: {:?}", error.reason)));
            }
        }
    }
    Ok(not_repaired("it keeps changing: audit again when the writers are done".to_owned()))
}

pub(super) async fn recheck(checks: &dyn Checks, target: &Target) -> CheckResults {
    let (container, partition_key, id) = match target {
        Target::Group(group) => return checks.check_group(group).await,
        Target::Item { container, partition_key, id } => (container, partition_key, id),
    };
    let containers = checks.containers();
    let known = containers.into_iter().find(|(known, _)| known.id() == *container);
    let Some((container, key)) = known else { return Ok(Vec::new()) };
    match container.read::<JsonText>(partition_key, id).await? {
        Some(Stored { item, .. }) => {
            let item = AuditedItem::new(container.id(), key, item);
            checks.check_item(&item, true).await
        }
        None => Ok(Vec::new()),
    }
}

pub(crate) async fn retry_transient<T, A: Future<Output = Result<T, StoreError>>>(
    check: impl Fn() -> A,
) -> Result<T, StoreError> {
    let attempt = |_| {
        let check = check();
        async { check.await.map_err(Transient) }
    };
    retry(attempt).await.map_err(|Transient(error)| error)
}

struct Transient(StoreError);

impl Retryable for Transient {
    fn is_retryable(&self) -> bool {
        self.0.is_transient()
    }

    fn store_error(&self) -> Option<&StoreError> {
        Some(&self.0)
    }
}
