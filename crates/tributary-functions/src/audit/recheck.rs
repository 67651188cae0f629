//! Repeated checks: of a target, and after a request that the store has throttled or not answered.

use super::{
    AuditedItem,
    any_checks::AnyChecks,
    finding::{Suspect, Target},
};
use crate::cosmos::{JsonText, Retryable, StoreError, Stored, retry};

pub(super) async fn recheck(
    checks: &dyn AnyChecks,
    target: &Target,
) -> Result<Vec<Suspect>, StoreError> {
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

/// Runs a check, and retries it after a throttled or unanswered request: neither ends a long audit.
pub(crate) async fn retry_transient<T, A>(check: impl Fn() -> A) -> Result<T, StoreError>
where
    A: Future<Output = Result<T, StoreError>>,
{
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
