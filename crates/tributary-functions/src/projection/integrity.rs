//! The invariants of a container of parents and children that commands alone cannot uphold.

use super::{
    Background, ContainerItem, Effect, Projection,
    fan_out::{RepairProjection, Repairs},
    removal::{Removal, remove_for_a_slice},
};
use crate::cosmos::{Container, StoreError};

/// The projection that repairs the copies of a [`fan_out`](super::fan_out) in its targets, as
/// [`RepairProjection`] does, and removes the children of the deleted parents among them.
pub struct IntegrityProjection<F, R> {
    repairs: RepairProjection<F>,
    removal: R,
    background: Background,
}

impl<F: Repairs, R> IntegrityProjection<F, R> {
    /// Creates the projection of a container of targets, whose change feed it reads, by one of sources. The
    /// removal is that of the container of targets, and works in the background.
    pub fn new(
        sources: &Container,
        targets: &Container,
        removal: impl FnOnce(Container) -> R,
        background: &Background,
    ) -> Self {
        let repairs = RepairProjection::new(sources, targets);
        let removal = removal(targets.in_background());
        Self { repairs, removal, background: background.clone() }
    }
}

impl<F: Repairs, R> Projection for IntegrityProjection<F, R>
where
    R: Removal<Tombstone: ContainerItem<Items = F::Target>> + Send + 'static,
{
    const FUNCTION: &'static str = F::REPAIRS;
    type Change = F::Target;

    fn container(&self) -> &Container {
        self.repairs.container()
    }

    async fn apply(&self, change: &F::Target) -> Result<Effect, StoreError> {
        match R::Tombstone::try_from(change.clone()) {
            Ok(tombstone) => remove_for_a_slice(&self.removal, &self.background, &tombstone).await,
            Err(change) => self.repairs.apply(&change).await,
        }
    }
}
