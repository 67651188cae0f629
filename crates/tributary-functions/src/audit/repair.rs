//! Repairs, with the guards that commands and projections use.
//!
//! Each write is made under the ETag, or the absence, of the item that it replaces. A copy is read
//! before its source, so the new copy is never older than the one that it replaces. Another write in
//! between makes the repair fail. Then everything is checked again.

use std::time::Duration;

use super::{
    Obstacle,
    any_checks::AnyChecks,
    finding::{Repair, Suspect},
    recheck::{recheck, retry_transient},
};
use crate::cosmos::StoreError;

const MAX_REPAIR_ATTEMPTS: usize = 10;

/// The pause after a lost race.
const REPAIR_PAUSE: Duration = Duration::from_millis(20);

/// Repairs one divergence, and checks that it is gone. Another write, such as another repair, may have
/// changed the kind of the divergence meanwhile. Then its present kind is repaired: each write is
/// guarded.
pub(super) async fn repair(
    checks: &dyn AnyChecks,
    suspect: &Suspect,
) -> Result<Repair, StoreError> {
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
