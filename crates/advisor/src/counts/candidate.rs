//! The counts of one candidate.

use cosmos_model::partitioning::{KeyPart, KeyStrategy, KeyValue, strategy::KeyError};

use super::{PreparedItem, times};
use crate::{
    report::KeyDefects,
    sketch::{KeyCounts, UniformSample, hash},
};

const MAX_WRITE_EVENTS: usize = 1 << 15;

/// The limit of the service for the value of a partition key, in bytes.
pub(crate) const MAX_KEY_BYTES: usize = 2_048;

#[derive(Debug)]
pub(crate) struct CandidateCounts {
    pub(crate) strategy: KeyStrategy,
    entity: Option<KeyStrategy>,
    pub(crate) partitions: KeyCounts,
    pub(crate) keys: KeyDefects,
    pub(crate) events: UniformSample<WriteEvent>,
    pub(crate) n_items: u64,
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteEvent {
    pub(crate) time: i64,
    pub(crate) key: u64,
    pub(crate) entity: u64,
}

impl CandidateCounts {
    pub(crate) fn new(strategy: KeyStrategy) -> Self {
        let is_entity = |part: &&KeyPart| !matches!(part, KeyPart::Period(..));
        let parts = strategy.parts().filter(is_entity).cloned();
        Self {
            entity: KeyStrategy::new(vec![parts.collect()]).ok(),
            strategy,
            partitions: KeyCounts::new(),
            keys: KeyDefects::default(),
            events: UniformSample::new(MAX_WRITE_EVENTS),
            n_items: 0,
            bytes: 0,
        }
    }

    pub(crate) fn add(&mut self, items: &[PreparedItem<'_>]) {
        for item in items {
            self.n_items += 1;
            self.bytes += item.bytes;
            let keys = &mut self.keys;
            let key = match self.strategy.key(item.value) {
                Ok(key) => key,
                Err(error) => {
                    *match error {
                        KeyError::Missing(_) => &mut keys.missing,
                        KeyError::Null(_) => &mut keys.null,
                        KeyError::NotATime(_) => &mut keys.not_a_time,
                        KeyError::NotScalar(_) => &mut keys.not_scalar,
                    } += 1;
                    continue;
                }
            };
            let values = key.values();
            keys.missing += u64::from(values.contains(&KeyValue::Undefined));
            keys.null += u64::from(values.contains(&KeyValue::Null));
            let is_long = |value: &KeyValue| matches!(value, KeyValue::Text(text) if text.len() > MAX_KEY_BYTES);
            keys.too_long += u64::from(values.iter().any(is_long));
            let hash = hash(&key);
            self.partitions.add(hash, || key.clone(), item.bytes, item.cluster, None);
            if let Some(time) = item.time {
                let entity_of = |entity: &KeyStrategy| self::hash(&entity.key(item.value).ok());
                let entity = || self.entity.as_ref().map_or(0, entity_of);
                self.events.offer(item.draw, || WriteEvent { time, key: hash, entity: entity() });
            }
        }
    }

    pub(crate) fn writes(&self) -> Vec<WriteEvent> {
        let all = || self.events.iter().copied();
        let believed = times::believed(all().map(|event| event.time).collect());
        let Some((oldest, newest)) = believed else { return Vec::new() };
        all().filter(|event| (oldest..=newest).contains(&event.time)).collect()
    }
}
