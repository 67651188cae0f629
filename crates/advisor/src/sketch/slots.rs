//! The items of a key by time, as far as a request for the last days can find them.

use crate::words::float;

/// The slots in which the time of `{"last": …}` is counted.
const WINDOW_SLOTS: i64 = 32;

#[derive(Clone, Debug, Default)]
pub(crate) struct TimeSlots(Vec<(i64, u32)>);

impl TimeSlots {
    pub(crate) fn add(&mut self, slot: i64, newest: i64) {
        if slot < newest - WINDOW_SLOTS {
            return;
        }
        if let Some((_, items)) = self.0.iter_mut().rev().find(|(known, _)| *known == slot) {
            *items = items.saturating_add(1);
        } else {
            self.0.retain(|(known, _)| *known >= newest - WINDOW_SLOTS);
            self.0.push((slot, 1));
        }
    }

    /// Returns the items of the last `seconds` before `newest`, the oldest slot in proportion.
    pub(crate) fn since(&self, newest: i64, seconds: i64) -> f64 {
        let length = slot_seconds(seconds);
        let start = newest - seconds;
        let within = self.0.iter().map(|&(slot, items)| {
            let end = (slot + 1) * length;
            let overlap = (end - start).clamp(0, length);
            f64::from(items) * float(overlap.unsigned_abs()) / float(length.unsigned_abs())
        });
        within.sum()
    }
}

pub(crate) fn slot_seconds(window: i64) -> i64 {
    (window / WINDOW_SLOTS).max(1)
}
