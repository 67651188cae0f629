//! Rebuild beside: a projection and its successor, whose copies have another shape.
//!
//! A changed shape gets a projection of its own, with a container of its own. Both projections are declared and
//! applied for a time, so there are two generations of copies. Readers get one of them. An operator switches
//! them to the other, back, and again, until the switch is confirmed. Then the old projection is retired, and
//! its copies are removed. `docs/projections.md` has the runbook.
//!
//! # How a domain uses it
//!
//! 1. The successor: its projection, its container, and its checks in the audit.
//! 2. One line: [`Context::succession`](crate::domain::Context::succession), the value of which stands in
//!    [`Domain::successions`](crate::domain::Domain::successions) and in the state of the handlers. With
//!    [`Succession::of_own_containers`] the old copies are removed after the confirmation.
//! 3. A handler asks [`Succession::serving`], and reads the copies of that generation. Its line in the table names
//!    the old projection in `reads_copies_of`.
//! 4. The checks of the old copies stand in
//!    [`Audit::and_until_confirmed`](crate::audit::Audit::and_until_confirmed): otherwise the audit would repair
//!    what is removed.
//! 5. After the removal: the old projection, its container and the line of step 2 are deleted from the code.
//!
//! # Why readers miss no copy
//!
//! *Given*: (a) while both projections run, each source that exists has been applied by both, or waits in the
//! change feed of one, or is a dead letter ([`projection`](super), [`rebuild`](crate::rebuild)); a switch to the
//! successor is refused before its rebuild has ended with a clean audit; (b) a switch is one write under an ETag,
//! and is accepted only when the one before holds; (c) every instance runs code that knows the succession before
//! an operator switches, and every running instance does when an operator confirms. *Claim*: a reader finds each
//! copy that the change feed has made, in one of the two shapes.
//!
//! - *Until the confirmation* both generations are right by (a). So it does not matter to a reader which one
//!   an instance reads, and a switch in any direction at any time, also after a day, is right.
//! - *One step*: a switch is stored with the time from which it holds ([`SwitchTimes::lead`] ahead). An instance
//!   answers a request by a state that it has read, in its latest committed form, less than
//!   [`SwitchTimes::known_for`] ago. So each has read the switch before that time, and all follow at that time by
//!   their clocks. While clocks differ, or if the write was slower than the lead, a caller may see the two
//!   shapes in turns for that long. By the first point no copy is missed.
//! - *One request reads one generation*, though a switch comes in its middle: it is chosen once, for the waits
//!   with a consistency token and for the handler. A list goes on in the generation in which it began, which
//!   its cursor names. After the confirmation such a cursor is refused, and the list begins again.
//! - *An instance that cannot read the state* goes on with what it knows for [`SwitchTimes::trusted_for`]. Then it
//!   refuses (503). One that starts reads the state before its first answer.
//! - *The removal* begins [`SwitchTimes::removal_delay`] after the confirmation: later than any request that
//!   was begun by an instance with an older state can read (trust, wait for copies, time limit). A confirmed
//!   switch holds whatever the clock says.
//! - *Two operators at once, a lost answer, a crash*: each step is decided on the latest committed state and
//!   written under its ETag, so the second one finds the step done or is refused. No step has a second write.
//! - *A crash of the removal*: the copies that remain are its position. Two workers delete each item once.
//! - *A late writer*, such as a batch under way, a repair of an audit, or an instance of an older version: its copies
//!   come into a container that no reader uses. A pass that finds nothing ends the removal, and the timer looks
//!   again every five minutes for as long as the succession is declared.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Mutex, time::Instant};

use super::control::{Generation, ProjectionStates, Switch};
use crate::{
    cosmos::{Container, Reads, StoreError},
    values::Timestamp,
};

tokio::task_local! {
    /// The generations that the current request reads.
    static CHOSEN: Vec<ChosenGeneration>;
}

/// The times of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchTimes {
    /// The time for which an instance answers by a state that it has read.
    pub known_for: Duration,
    /// The time for which an instance that cannot read the state goes on with what it knows.
    pub trusted_for: Duration,
    /// The time between the write of a switch and the time from which it holds.
    pub lead: Duration,
    /// The time between a confirmation and the removal of the old copies.
    pub removal_delay: Duration,
}

impl SwitchTimes {
    /// The times of an app.
    pub const DEFAULT: &'static Self = &Self {
        known_for: Duration::from_secs(2),
        trusted_for: Duration::from_mins(1),
        // `known_for`, the retries of the SDK for a throttled write (5 s), and clocks.
        lead: Duration::from_secs(10),
        removal_delay: Duration::from_mins(5),
    };
}

/// A projection and its successor. Cloning is cheap.
#[derive(Clone)]
pub struct Succession {
    old: &'static str,
    new: &'static str,
    /// The containers of the old and of the new copies, if nothing else is in them.
    containers: Option<[Container; 2]>,
    knowledge: Arc<Knowledge>,
}

/// The state of the switch as this instance knows it.
struct Knowledge {
    states: ProjectionStates,
    times: &'static SwitchTimes,
    /// Held during a read, so that requests share one.
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    switch: Option<Switch>,
    /// The time at which the last read that succeeded was sent.
    read_at: Option<Instant>,
    /// The last read, if it has failed.
    failure: Option<(Instant, StoreError)>,
}

/// The generation that a request reads.
#[derive(Debug, Clone, Copy)]
pub struct ChosenGeneration {
    old: &'static str,
    new: &'static str,
    generation: Generation,
}

/// The generation that readers get now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServingGeneration {
    /// The generation.
    pub generation: Generation,
    /// True if the switch is confirmed: the old copies are removed, or will be.
    pub is_confirmed: bool,
}

/// Runs a request that reads these generations.
pub async fn in_generations<F: Future>(chosen: Vec<ChosenGeneration>, request: F) -> F::Output {
    CHOSEN.scope(chosen, request).await
}

/// Returns the successors whose copies the current request reads, separated by commas.
pub fn chosen_successors() -> String {
    let names = |chosen: &Vec<ChosenGeneration>| {
        let chosen = chosen.iter().filter(|one| one.generation == Generation::New);
        chosen.map(|one| one.new).collect::<Vec<_>>().join(",")
    };
    CHOSEN.try_with(names).unwrap_or_default()
}

/// Returns true if the current request reads copies of a projection that has a successor.
pub fn has_generations() -> bool {
    CHOSEN.try_with(|chosen| !chosen.is_empty()).unwrap_or_default()
}

impl Succession {
    /// Creates a succession; `old` and `new` are the functions of the projection and of its successor.
    pub fn new(
        states: &ProjectionStates,
        times: &'static SwitchTimes,
        (old, new): (&'static str, &'static str),
    ) -> Self {
        let states = states.reading(Reads::Latest);
        let knowledge = Knowledge { states, times, known: Mutex::default() };
        Self { old, new, containers: None, knowledge: knowledge.into() }
    }

    /// Returns the succession of projections each of which has a container of its own for its copies. After the
    /// confirmation all items of the old container are deleted. So nothing else may be in it: the app refuses
    /// to start if it is the source of a projection, or if the successor has the same.
    pub fn of_own_containers(self, old: &Container, new: &Container) -> Self {
        Self { containers: Some([old.clone(), new.clone()]), ..self }
    }

    /// Returns the function of the projection that is replaced.
    pub fn old(&self) -> &'static str {
        self.old
    }

    /// Returns the successor's function.
    pub fn successor(&self) -> &'static str {
        self.new
    }

    /// Returns the function that makes the copies of a generation.
    pub fn function_of(&self, generation: Generation) -> &'static str {
        match generation {
            Generation::Old => self.old,
            Generation::New => self.new,
        }
    }

    /// Returns the containers of the old and of the new copies, if nothing else is in them.
    pub(super) fn containers(&self) -> Option<&[Container; 2]> {
        self.containers.as_ref()
    }

    /// Returns the container whose items are deleted after the confirmation; `None` where the copies stay.
    pub fn removed_container(&self) -> Option<&Container> {
        self.containers.as_ref().map(|[old, _]| old)
    }

    /// Returns the generation whose copies a request reads: in memory, if the line of its function in the table
    /// names the old projection in `reads_copies_of`. Elsewhere that of now ([`Self::now`]).
    ///
    /// # Errors
    ///
    /// Those of [`Self::now`].
    pub async fn serving(&self) -> Result<Generation, StoreError> {
        match self.chosen() {
            Some(generation) => Ok(generation),
            None => Ok(self.now().await?.generation),
        }
    }

    /// Returns the generation that readers get now. An instance reads the state when it was asked and its last
    /// read is two seconds old: a point read of the latest committed state (2 request units).
    ///
    /// # Errors
    ///
    /// If the state could not be read for a minute, or never.
    pub async fn now(&self) -> Result<ServingGeneration, StoreError> {
        let mut known = self.knowledge.known.lock().await;
        self.knowledge.refresh(&mut known, (self.old, self.new)).await?;
        let now = Timestamp::now();
        let switch = known.switch.as_ref();
        Ok(ServingGeneration {
            generation: switch.map_or(Generation::Old, |switch| switch.serving_at(now)),
            is_confirmed: switch.is_some_and(|switch| switch.retirement.is_some()),
        })
    }

    /// Returns this succession with the generation that a request reads.
    pub fn choose(&self, generation: Generation) -> ChosenGeneration {
        ChosenGeneration { old: self.old, new: self.new, generation }
    }

    /// Returns the function whose copies the current request reads, for either function of the succession.
    pub(super) fn chosen_for(&self, function: &str) -> Option<&'static str> {
        if function != self.old && function != self.new {
            return None;
        }
        self.chosen().map(|generation| self.function_of(generation))
    }

    /// Returns the generation that was chosen for the current request.
    fn chosen(&self) -> Option<Generation> {
        let chosen = CHOSEN.try_with(|chosen| {
            chosen.iter().find(|one| one.old == self.old).map(|one| one.generation)
        });
        chosen.ok().flatten()
    }
}

impl Knowledge {
    /// Reads the state, if the last read is too old.
    async fn refresh(
        &self,
        known: &mut Known,
        (old, new): (&'static str, &'static str),
    ) -> Result<(), StoreError> {
        let SwitchTimes { known_for, trusted_for, .. } = *self.times;
        let now = Instant::now();
        let is_within = |at: Instant, time: Duration| now.saturating_duration_since(at) < time;
        if known.read_at.is_some_and(|at| is_within(at, known_for)) {
            return Ok(());
        }
        // After a failure, no request waits for the store until the next attempt.
        if known.failure.as_ref().is_none_or(|(at, _)| !is_within(*at, known_for)) {
            match self.states.read(old).await {
                Ok((state, _)) => {
                    known.switch = state.switch_to(new).cloned();
                    known.read_at = Some(now);
                    known.failure = None;
                    return Ok(());
                }
                Err(error) => {
                    tracing::warn!(projection = old, %error, "The switch of a projection is unknown");
                    known.failure = Some((now, error));
                }
            }
        }
        match (&known.failure, known.read_at) {
            (Some((_, error)), at) if at.is_none_or(|at| !is_within(at, trusted_for)) => {
                Err(error.clone())
            }
            _ => Ok(()),
        }
    }
}
