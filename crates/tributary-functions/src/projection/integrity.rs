//! What commands alone cannot uphold in a container of parents and their children: copied values
//! that a [`fan_out`](super::fan_out) has missed are repaired, and the children of a deleted parent
//! are [removed](super::removal), in slices of time and within the budget of the background.

use super::{
    Background, ContainerItem, Effect, Projection,
    fan_out::{RepairProjection, Repairs},
    removal::{Removal, remove_for_a_slice},
};
use crate::cosmos::{Container, StoreError};

/// The projection that repairs the copies in the items of a container, and removes the children of deleted parents.
pub struct IntegrityProjection<F, R> {
    repairs: RepairProjection<F>,
    removal: R,
    background: Background,
}

impl<F: Repairs, R: Removal> IntegrityProjection<F, R> {
    /// Creates the projection of the container of `removal`, by the one of the `sources` of copied values.
    pub fn new(removal: R, sources: &Container, background: &Background) -> Self {
        let repairs = RepairProjection::new(sources, removal.container());
        Self { repairs, removal, background: background.clone() }
    }
}

impl<F: Repairs, R: Removal + Send + 'static> Projection for IntegrityProjection<F, R>
where
    R::Tombstone: ContainerItem<Items = F::Target>,
{
    const FUNCTION: &'static str = F::REPAIRS;
    type Change = F::Target;

    fn container(&self) -> &Container {
        self.repairs.container()
    }

    fn source(change: &F::Target) -> Option<(String, u64)> {
        RepairProjection::<F>::source(change)
    }

    async fn apply(&self, change: &F::Target) -> Result<Effect, StoreError> {
        if F::copied(change).is_some() {
            return self.repairs.apply(change).await;
        }
        match R::Tombstone::try_from(change.clone()) {
            Ok(tombstone) => remove_for_a_slice(&self.removal, &self.background, &tombstone).await,
            Err(_) => Ok(Effect::Unchanged),
        }
    }
}
