//! The control of projections by operators: a state for each projection, which every instance follows.
//!
//! The container `projections` has an item for each projection that an operator has ever paused
//! (`ProjectionState`, `ProjectionStates`); a projection without one runs. It is written under its ETag only. An
//! instance reads the item when a batch arrives and its last read is older than `STATE_MAX_AGE`
//! (`ProjectionGate`), so an idle app reads nothing.
//!
//! # Why a pause loses nothing
//!
//! *Given*: (a) the host writes its checkpoint only after a batch that succeeded, since the retry of each trigger
//! is endless; (b) a refused batch reads and writes nothing but the state. *Claim*: after a resume, each change
//! is applied as if there had been no pause. By (a) the host keeps a refused batch as the first of its partition,
//! and invokes the projection again after at most a minute. The changes behind it wait in the change feed, in
//! their order. So:
//!
//! - *Duplicate deliveries, two instances*: for up to the maximal age one instance may admit a batch that another
//!   refuses. Both are right, since a batch may be applied at any time and any number of times
//!   ([`projection`](super)). Hence the pause needs no fence, and a stale read admits or refuses one batch more.
//! - *A batch that was admitted before the pause* is applied to its end.
//! - *A crash in the middle* of a refusal leaves the batch where it was. The instance reads the state anew.
//! - *A lost answer of the state's write*: the next attempt reads the latest committed state, and finds that
//!   nothing is to be changed.
//! - *No container `projections`*: no pause was ever stored, so all projections run. A pause is refused.
//! - *A store that does not answer*: the batch fails, as it would without a pause. To admit it would be to apply
//!   changes that an operator has stopped.

mod gate;
mod rebuild;
mod state;
mod states;

pub use self::gate::FailureLimit;
pub(super) use self::gate::pause_after_failures;
pub(crate) use self::{
    gate::{ProjectionGate, STATE_MAX_AGE},
    rebuild::{CLAIM, Rebuild, RebuildProgress, RebuildStep},
    state::{Pause, ProjectionState, ProjectionStatus},
    states::{ProjectionStates, WaitingPositions},
};
