//! The timer trigger's status.

use serde::Deserialize;

use crate::invocation::{FromInvocation, Invocation, InvocationError};

/// The status of the timer that started the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerInfo {
    /// True when the timer should have started the function earlier.
    pub is_past_due: bool,
    /// The last and the next run; `None` when the timer's `useMonitor` is off.
    pub schedule_status: Option<ScheduleStatus>,
    /// True when the schedule follows daylight saving time.
    pub adjust_for_dst: bool,
}

/// The times of a timer's runs, as the host writes them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct ScheduleStatus {
    /// The run before this one.
    pub last: String,
    /// The run after this one.
    pub next: String,
    /// The time of the host's last update of this status.
    pub last_updated: String,
}

impl FromInvocation for TimerInfo {
    fn from_invocation(invocation: &Invocation<'_>) -> Result<Self, InvocationError> {
        let wire: TimerInfoWire =
            Invocation::decode("the timer's status", invocation.only_data()?)?;
        Ok(Self {
            is_past_due: wire.is_past_due,
            schedule_status: wire.schedule_status,
            adjust_for_dst: wire.schedule.is_some_and(|schedule| schedule.adjust_for_dst),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TimerInfoWire {
    is_past_due: bool,
    schedule_status: Option<ScheduleStatus>,
    schedule: Option<TimerSchedule>,
}

#[derive(Deserialize)]
struct TimerSchedule {
    #[serde(rename = "AdjustForDST", default)]
    adjust_for_dst: bool,
}
