//! Admission control: how many requests are worked on at a time, and how much memory they may need.
//!
//! Without it, memory grows with the number of callers: 64 of them who ask for pages of a megabyte
//! are some 200 MB. So each request waits for its turn before the store is asked, and is refused with
//! a 503 when the wait is too long.
//!
//! 1. A request whose answer or body can be large reserves the memory that it may need at worst, as
//!    [`Footprint`] tells. One that may need more than there is reserves all of it.
//! 2. Then every request takes one of the places for requests that are worked on.
//! 3. When the answer is made, the place is free, and the reservation shrinks to the answer's size.
//!    The rest is free when the answer has been sent, or dropped.
//!
//! - *No deadlock*: a request reserves once, and the holder of a reservation waits for a place only.
//!   The holder of a place waits for the store only, which has a deadline, and for the request's
//!   body, which has one too.
//! - *Small requests do not wait behind large ones*: they reserve nothing, and who waits for memory
//!   has no place yet.
//! - *First come, first served*, for each of the two: a large reservation is not overtaken for ever.
//! - *A slow reader* holds its answer only until the socket has taken it. On Linux a loopback socket
//!   takes some 4 MB without a reader, and the Functions host closes connections of readers that are
//!   too slow for it.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody},
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http_body_util::BodyExt;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::{ApiError, body::MAX_BODY, limit_of, parameter_of, query::parameters};
use crate::cosmos::{Limits, within};

/// The memory that a request may need without a reservation.
const SMALL: usize = 128 * 1024;

/// How often the bytes of an answer, or of a body, are in memory at the same time: as the store's or
/// the caller's text, as values, and as text again.
const COPIES: usize = 3;

/// Memory is reserved in KiB.
const UNIT: usize = 1024;
const UNITS_OF_MIB: u32 = 1024;

/// Settings of the admission control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionOptions {
    /// How many requests are worked on at a time: `Admission__Requests`.
    pub requests: u16,
    /// How much memory large requests may need together, in MiB: `Admission__MemoryMiB`.
    pub memory_mib: u16,
    /// How long a request waits for its turn.
    pub wait: Duration,
}

impl Default for AdmissionOptions {
    fn default() -> Self {
        Self { requests: 128, memory_mib: 32, wait: Duration::from_secs(10) }
    }
}

/// How large the answer of a function can be, in bytes.
#[derive(Debug, Clone, Copy)]
pub enum Footprint {
    /// At most a few KB.
    Small,
    /// An item that has, or whose handler reads one that has, at most so many bytes.
    Item(usize),
    /// One item, and more when the query string has a parameter.
    ItemWith {
        /// The most bytes of the item.
        item: usize,
        /// The parameter.
        parameter: &'static str,
        /// The most bytes of what the parameter adds.
        more: usize,
    },
    /// A small answer to a body of at most so many bytes.
    Body(usize),
    /// A list.
    Page {
        /// The most bytes of an item of the list, as JSON.
        item: usize,
        /// The number of items when the caller does not ask for another.
        limit: u32,
    },
}

impl Footprint {
    /// The memory that a request may need at worst, its own body included.
    fn of(self, request: &Request) -> usize {
        let answer = match self {
            Self::Small | Self::Body(_) => 0,
            Self::Item(bytes) => bytes,
            Self::ItemWith { item, parameter, more } => {
                match parameter_of(request.uri().query(), parameter) {
                    Ok(Some(_)) => item + more,
                    _ => item,
                }
            }
            // A bad limit is refused without a look into the store.
            Self::Page { item, limit } => {
                limit_of(request.uri().query(), limit).map_or(0, |limit| limit as usize * item)
            }
        };
        // The length of a body that comes in chunks is not known.
        let body = request.body().size_hint().exact().and_then(|size| usize::try_from(size).ok());
        let largest = if let Self::Body(bytes) = self { bytes } else { MAX_BODY };
        COPIES * (answer + body.unwrap_or(largest).min(largest))
    }
}

/// The admission control of an instance. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Admission {
    requests: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    all_memory: u32,
    wait: Duration,
}

/// A request that is being worked on.
struct Admitted {
    place: OwnedSemaphorePermit,
    memory: Option<OwnedSemaphorePermit>,
}

/// Bytes of an answer, and the reservation that ends when nobody has them any more.
struct Answer {
    bytes: Bytes,
    _memory: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Answer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Admission {
    /// The admission control with these settings.
    pub fn new(options: AdmissionOptions) -> Self {
        let AdmissionOptions { requests, memory_mib, wait } = options;
        let all_memory = u32::from(memory_mib) * UNITS_OF_MIB;
        Self {
            requests: Arc::new(Semaphore::new(requests.into())),
            memory: Arc::new(Semaphore::new(all_memory as usize)),
            all_memory,
            wait,
        }
    }

    /// Waits for the turn of a request that may need so many bytes; `None` when the wait is too long.
    async fn admit(&self, bytes: usize) -> Option<Admitted> {
        let turn = async {
            let memory = if bytes > SMALL { Some(self.reserve(bytes).await?) } else { None };
            let place = Arc::clone(&self.requests).acquire_owned().await.ok()?;
            Some(Admitted { place, memory })
        };
        timeout(self.wait, turn).await.ok().flatten()
    }

    async fn reserve(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let needed = units(bytes).min(self.all_memory);
        Arc::clone(&self.memory).acquire_many_owned(needed).await.ok()
    }
}

impl Admitted {
    /// Lets the next request begin, and keeps the memory of the answer until it has been sent.
    async fn until_sent(self, response: Response) -> Response {
        drop(self.place);
        let size = response.body().size_hint().lower();
        let (Some(mut memory), Ok(size)) = (self.memory, usize::try_from(size)) else {
            return response;
        };
        if size <= SMALL {
            return response;
        }
        let needed = memory.num_permits().min(units(size) as usize);
        let Some(memory) = memory.split(needed) else { return response };
        let (parts, body) = response.into_parts();
        // It is in memory as one piece, which is handed on and not copied.
        match body.collect().await {
            Ok(body) => {
                let answer = Answer { bytes: body.to_bytes(), _memory: memory };
                Response::from_parts(parts, Body::from(Bytes::from_owner(answer)))
            }
            Err(_) => ApiError::Internal.into_response(),
        }
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

/// Lets a request wait for its turn, and refuses it when the wait is too long. One that gives a parameter
/// twice has no turn. The request then runs within its limits.
pub async fn admit(
    State((admission, footprint, limits)): State<(Admission, Footprint, Limits)>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(error) = parameters(request.uri().query()) {
        return error.into_response();
    }
    match admission.admit(footprint.of(&request)).await {
        Some(admitted) => {
            let response = within(limits, next.run(request)).await;
            admitted.until_sent(response).await
        }
        None => ApiError::Overloaded.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, future::join_all};
    use http_body_util::Full;
    use proptest::{collection::vec, prelude::*};

    use super::*;

    const KIB: usize = 1024;
    const MIB: usize = 1024 * KIB;

    fn admission(requests: u16, memory_mib: u16) -> Admission {
        let wait = Duration::from_secs(10);
        Admission::new(AdmissionOptions { requests, memory_mib, wait })
    }

    fn response(bytes: usize) -> Response {
        Response::new(Body::new(Full::new(Bytes::from(vec![b'x'; bytes]))))
    }

    fn free(admission: &Admission) -> (usize, usize) {
        (admission.requests.available_permits(), admission.memory.available_permits())
    }

    #[tokio::test]
    async fn the_bytes_of_an_answer_count_until_nobody_has_them() {
        let admission = admission(4, 8);
        let admitted = admission.admit(3 * MIB).await.unwrap();
        assert_eq!(free(&admission), (3, 5 * KIB));
        let mut body = admitted.until_sent(response(MIB)).await.into_body();
        assert_eq!(free(&admission), (4, 7 * KIB));
        // The server has the bytes and the body is at its end: they are still in memory.
        let bytes = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        assert_eq!((bytes.len(), free(&admission)), (MIB, (4, 7 * KIB)));
        drop(bytes);
        assert_eq!(free(&admission), (4, 8 * KIB));
        // A small answer holds nothing.
        let admitted = admission.admit(3 * MIB).await.unwrap();
        let _small = admitted.until_sent(response(KIB)).await;
        assert_eq!(free(&admission), (4, 8 * KIB));
    }

    #[tokio::test]
    async fn one_that_needs_more_than_there_is_takes_it_all() {
        let admission = admission(4, 2);
        let admitted = admission.admit(100 * MIB).await.unwrap();
        assert_eq!(free(&admission), (3, 0));
        let answer = admitted.until_sent(response(3 * MIB)).await;
        assert_eq!(free(&admission), (4, 0));
        drop(answer);
        assert_eq!(free(&admission), (4, 2 * KIB));
    }

    #[tokio::test]
    async fn who_waits_for_memory_keeps_no_small_request_from_its_place() {
        let admission = Admission { wait: Duration::from_millis(20), ..admission(2, 1) };
        let slow = admission.admit(MIB).await.unwrap();
        let waiting: Vec<_> = (0..8).map(|_| admission.admit(MIB)).collect();
        let (small, waiting) = futures::join!(admission.admit(KIB), join_all(waiting));
        assert!(small.is_some() && waiting.iter().all(Option::is_none));
        // Those who gave up have left nothing behind.
        drop((slow, small));
        assert_eq!(free(&admission), (2, KIB));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Each request is a need and the size of its answer, and then its reader takes its time.
        #[test]
        fn all_requests_are_served_and_never_more_than_allowed(
            requests in vec((0usize..5_000, 0usize..2_000, 0usize..50), 1..60),
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            runtime.unwrap().block_on(async {
                let admission = admission(3, 4);
                let served = requests.into_iter().map(|(need, answer, turns)| {
                    let pause = async move || {
                        for _ in 0..turns {
                            tokio::task::yield_now().await;
                        }
                    };
                    let admission = admission.clone();
                    async move {
                        let admitted = admission.admit(need * KIB).await.expect("it is its turn");
                        let (places, memory) = free(&admission);
                        assert!(places < 3 && (need * KIB <= SMALL || memory < 4 * KIB));
                        pause().await;
                        let _answer = admitted.until_sent(response(answer * KIB)).await;
                        pause().await;
                    }
                    .boxed()
                });
                join_all(served).await;
                assert_eq!(free(&admission), (3, 4 * KIB));
            });
        }
    }
}
