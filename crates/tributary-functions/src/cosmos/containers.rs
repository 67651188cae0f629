//! The containers of a domain together.

/// Implements the methods of a container for a domain's handle, which has a field for each
/// [`Container`](crate::cosmos::Container) and a field `reads`: they set the consistency of reads and the
/// priority of requests for all containers at once.
///
/// ```
/// use std::sync::Arc;
/// use tributary_functions::cosmos::{Container, Cosmos, Reads, containers};
///
/// #[derive(Clone)]
/// struct Rooms {
///     rooms: Container,
///     bookings: Container,
///     reads: Reads,
/// }
///
/// containers!(Rooms: rooms, bookings);
///
/// // The handle for an attempt of `retry`.
/// fn of_attempt(rooms: &Rooms, reads: Reads) -> Rooms {
///     rooms.reading(reads)
/// }
/// ```
#[macro_export]
macro_rules! containers {
    ($handle:ty: $($container:ident),+ $(,)?) => {
        impl $handle {
            /// Returns the handle with reads of this consistency.
            pub fn reading(&self, reads: $crate::cosmos::Reads) -> Self {
                let mut handle = self.clone();
                $(handle.$container = self.$container.reading(reads);)+
                handle.reads = reads;
                handle
            }

            /// Returns the handle whose reads see the latest committed state.
            pub fn latest_committed(&self) -> Self {
                self.reading($crate::cosmos::Reads::Latest)
            }

            /// Returns the handle for work in the background, with low priority.
            pub fn in_background(&self) -> Self {
                let mut handle = self.clone();
                $(handle.$container = self.$container.in_background();)+
                handle
            }
        }
    };
}
pub use crate::containers;
