//! The check of the successions that the domains declare, before the app starts.

use std::sync::Arc;

use super::{AnyProjection, succession::Succession};

/// Checks the successions that the domains declare.
///
/// # Errors
///
/// A sentence about the first one that is wrong.
pub fn check_successions(
    successions: &[Succession],
    projections: &[Arc<dyn AnyProjection>],
) -> Result<(), String> {
    let mut named: Vec<&str> = Vec::new();
    for succession in successions {
        let [old, new] = [succession.old(), succession.successor()];
        for name in [old, new] {
            if projections.iter().all(|one| one.function() != name) {
                return Err(format!(
                    "The succession of {old} and {new}: there is no projection {name}."
                ));
            }
            if named.contains(&name) {
                return Err(format!(
                    "{name} is in a succession already: confirm and delete that first."
                ));
            }
            named.push(name);
        }
        let Some([old_copies, new_copies]) = succession.containers() else { continue };
        let id = old_copies.id();
        let is_source = |one: &Arc<dyn AnyProjection>| one.container_id() == id;
        let others = successions.iter().filter(|other| other.old() != old);
        let mut others = others.filter_map(|other| other.containers()).flatten();
        let is_shared = new_copies.id() == id || others.any(|other| other.id() == id);
        if is_shared || projections.iter().any(is_source) {
            return Err(format!(
                "The copies of {old} are removed after the confirmation, and the container {id} has the \
                 copies of another projection, or sources: give the old copies a container of their own, or \
                 declare the succession without of_own_containers."
            ));
        }
    }
    Ok(())
}
