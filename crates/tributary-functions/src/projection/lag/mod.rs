//! The lag of the projections as it is: for each lease, the changes that wait and the time of the first,
//! whether the trigger runs or not.
//!
//! The method is that of the change feed estimator of the .NET SDK (`ChangeFeedEstimatorIterator`):
//!
//! 1. The continuation of the lease is the position behind the last acknowledged batch.
//! 2. The change feed is read from there, for the first change behind it. Without one, nothing waits.
//! 3. The session token of the answer has the log sequence number (LSN) of the partition's last write. Its
//!    distance from the LSN of the first change is the number of the waiting changes, that change included.
//!
//! It is an upper bound: an item that is written twice counts twice, though the trigger delivers it once, and
//! a deletion after the first waiting change counts too, though the feed has none of it. A batch counts until
//! it is acknowledged. After a split, the lease of the parent has a part in each child, and the sum of the parts
//! counts. Both children have the numbers of their parent's writes: those that waited while the partition split
//! count in each child until they are acknowledged.
//!
//! A measurement moves no checkpoint. It costs a query of the leases (3 request units for each physical
//! partition of their container), a request for each monitored container, and one or two request units for
//! each lease. The number of leases and the time have limits: a lease beyond them has no lag.

mod measure;
mod measured;
mod status;
mod summary;
mod timer;

pub use self::measured::Lag;
pub(crate) use self::timer::measure_lag;
pub(crate) use self::{
    measure::MAX_MEASURED_LEASES,
    measured::{MeasuredLease, ProjectionLag},
    status::LeaseStatus,
    summary::LagSummary,
};
