//! Admission control: the limits of concurrent requests, and of the memory that they may need. Without it, 64
//! callers that ask for pages of a megabyte need some 200 MB. A request that waits for too long for its turn is
//! refused with a 503, before it reaches the store.
//!
//! 1. The body arrives whole, in bounded time. One that no handler takes is discarded and holds nothing. Others
//!    have a place, and once more than [`FREE_BYTES`] have come, *arrival memory* for all. Chunked bodies, which
//!    the host passes on as slowly as they come, have both apart from bodies with a length.
//! 2. A request whose answer or body can be large reserves the memory of its worst case, by its [`Footprint`]. It
//!    then leaves place and arrival memory; a small request does so at step 4.
//! 3. If its handler waits for something other than the store, it waits in the [queue](WorkQueue) of its
//!    function.
//! 4. Every request takes a permit: their number is the limit of concurrent requests.
//! 5. After the handler, permit and turn are free, and the reservation shrinks to the answer's size, until the
//!    answer has been sent or dropped.
//!
//! - *No deadlock*: place, arrival memory, memory, turn and permit are taken in this order, each at most once.
//! - *Slow senders* keep only each other waiting: what they hold, only chunked bodies wait for.
//! - *Small requests* wait for no large one: they reserve no memory, and the waiting ones have no permit.
//! - *First come, first served*, for each of them: a large reservation is not overtaken for ever.
//! - *A slow reader* holds its answer only until the socket has taken it, and the host closes such connections.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, HttpBody},
    extract::{Request, State},
    http::{Method, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, Limited};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

use super::{
    ApiError, FunctionLine, Signature, WorkQueue,
    body::{MAX_ARRIVAL_TIME, MAX_BODY_BYTES, broken, discard, in_arrival_time, is_json},
    conditions, headers, limit_of, parameter_of,
    query::parameters,
    work_queue::Turn,
};
use crate::cosmos::{confirmed, within_request};

const SMALL_BYTES: usize = 128 * 1024;

/// The text of the store or of the caller, the values, and the text of the answer.
const COPIES_IN_MEMORY: usize = 3;

const FREE_BYTES: usize = 32 * 1024;

const PLACES_PER_PERMIT: usize = 2;

const ARRIVAL_SHARE: u32 = 4;

const MEMORY_UNIT_BYTES: usize = 1024;
const MEMORY_UNITS_PER_MIB: u32 = 1024;

/// Settings of the admission control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionOptions {
    /// The most concurrent requests: `Admission__Requests`.
    pub requests: u16,
    /// The memory for all large requests together, in MiB: `Admission__MemoryMiB`.
    pub memory_mib: u16,
    /// The longest wait of a request for its turn.
    pub wait: Duration,
}

impl Default for AdmissionOptions {
    fn default() -> Self {
        Self { requests: 128, memory_mib: 32, wait: Duration::from_secs(10) }
    }
}

/// The largest answer of a function, in bytes.
#[derive(Debug, Clone, Copy)]
pub enum Footprint {
    /// At most a few KB.
    Small,
    /// An item of at most so many bytes; also if only the handler reads such an item.
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
    /// An answer to a body whose items may each be refused on their own.
    Batch {
        /// The most bytes of the body.
        body: usize,
        /// The most bytes of the answer.
        answer: usize,
    },
    /// A list.
    Page {
        /// The most bytes of an item of the list, as JSON.
        item: usize,
        /// The number of items when the caller does not ask for another.
        limit: u32,
    },
}

impl Footprint {
    /// Returns the bytes of memory that a request needs in its worst case, its own body included.
    pub fn memory_bytes(self, request: &Request) -> usize {
        let answer = match self {
            Self::Small => 0,
            Self::Item(bytes) | Self::Batch { answer: bytes, .. } => bytes,
            Self::ItemWith { item, parameter, more } => {
                match parameter_of(request.uri().query(), parameter) {
                    Ok(Some(_)) => item + more,
                    _ => item,
                }
            }
            // A bad limit is refused before the store is asked.
            Self::Page { item, limit } => {
                limit_of(request.uri().query(), limit).map_or(0, |limit| limit as usize * item)
            }
        };
        // The body has arrived.
        let body = usize::try_from(request.body().size_hint().lower()).unwrap_or(usize::MAX);
        COPIES_IN_MEMORY * (answer + body.min(self.largest_body()))
    }

    fn largest_body(self) -> usize {
        if let Self::Batch { body, .. } = self { body } else { MAX_BODY_BYTES }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Admission {
    requests: Arc<Semaphore>,
    memory: MemoryBudget,
    /// The places and the memory of bodies with a length, and those of chunked bodies.
    arrivals: [(Arc<Semaphore>, MemoryBudget); 2],
    arrival_time: Duration,
    wait: Duration,
}

#[derive(Debug, Clone)]
struct MemoryBudget {
    units: Arc<Semaphore>,
    all: u32,
}

type Reserved = Result<Option<OwnedSemaphorePermit>, ApiError>;

/// The place of a body, and its arrival memory.
type Arrival = (OwnedSemaphorePermit, Option<OwnedSemaphorePermit>);

struct Admitted {
    permit: OwnedSemaphorePermit,
    turn: Option<Turn>,
    memory: Option<OwnedSemaphorePermit>,
}

/// The bytes of an answer, and the memory reservation that ends when the bytes are dropped.
struct ReservedBytes {
    bytes: Bytes,
    _memory: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl MemoryBudget {
    fn new(all: u32) -> Self {
        Self { units: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// Reserves memory for more than `free` bytes; at most all of it.
    async fn reserve(&self, bytes: usize, free: usize, until: Instant) -> Reserved {
        if bytes <= free {
            return Ok(None);
        }
        let needed = units(bytes).min(self.all);
        in_time(until, Arc::clone(&self.units).acquire_many_owned(needed)).await.map(Some)
    }
}

impl Admission {
    pub(crate) fn new(options: AdmissionOptions) -> Self {
        let AdmissionOptions { requests, memory_mib, wait } = options;
        let all_memory = u32::from(memory_mib) * MEMORY_UNITS_PER_MIB;
        let arrivals = || {
            let places = Semaphore::new(PLACES_PER_PERMIT * usize::from(requests));
            (Arc::new(places), MemoryBudget::new(all_memory / ARRIVAL_SHARE))
        };
        Self {
            requests: Arc::new(Semaphore::new(requests.into())),
            memory: MemoryBudget::new(all_memory),
            arrivals: [arrivals(), arrivals()],
            arrival_time: MAX_ARRIVAL_TIME,
            wait,
        }
    }

    async fn admit(
        &self,
        FunctionLine { footprint, queue, signature, .. }: &FunctionLine,
        request: Request,
    ) -> Result<(Admitted, Request), ApiError> {
        let (request, arrival) =
            self.arrived(request, footprint.largest_body(), *signature).await?;
        let until = Instant::now() + self.wait;
        let bytes = footprint.memory_bytes(&request);
        let memory = self.memory.reserve(bytes, SMALL_BYTES, until).await?;
        // A small body keeps its place, so that the bodies that wait for a permit are bounded too.
        let _place = arrival.filter(|_| memory.is_none());
        let admitted = self.permit(memory, queue.as_ref(), until).await?;
        Ok((admitted, request))
    }

    /// Waits for the body of a request, and returns the request with its whole body.
    async fn arrived(
        &self,
        request: Request,
        limit: usize,
        signature: Signature,
    ) -> Result<(Request, Option<Arrival>), ApiError> {
        if request.body().is_end_stream() {
            return Ok((request, None));
        }
        let (parts, body) = request.into_parts();
        let size = body.size_hint();
        let is_too_large = size.lower() > limit as u64;
        let is_taken = matches!(parts.method, Method::POST | Method::PUT)
            && is_json(&parts.headers)
            && (!is_too_large || signature.takes().body.is_some());
        if !is_taken {
            in_arrival_time(self.arrival_time, discard(body)).await?;
            return Ok((Request::from_parts(parts, Body::empty()), None));
        }
        // It is refused unread.
        if is_too_large {
            return Err(ApiError::TooLarge { limit });
        }
        let (places, memory) = &self.arrivals[usize::from(size.exact().is_none())];
        let place = Arc::clone(places).acquire_owned();
        let place = in_time(Instant::now() + self.wait, place).await?;
        let largest = size.exact().and_then(|size| usize::try_from(size).ok()).unwrap_or(limit);
        let body = Limited::new(body, limit);
        let read = self.read(body, largest, memory);
        let (bytes, memory) = in_arrival_time(self.arrival_time, read).await?;
        Ok((Request::from_parts(parts, Body::from(bytes)), Some((place, memory))))
    }

    async fn read(
        &self,
        mut body: Limited<Body>,
        largest: usize,
        memory: &MemoryBudget,
    ) -> Result<(Bytes, Option<OwnedSemaphorePermit>), ApiError> {
        let (mut bytes, mut reserved) = (Bytes::new(), None);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|error| broken(&*error, largest))?.into_data() else {
                continue;
            };
            if reserved.is_none() && bytes.len() + data.len() > FREE_BYTES {
                let until = Instant::now() + self.wait;
                reserved = memory.reserve(largest, FREE_BYTES, until).await?;
            }
            if bytes.is_empty() {
                bytes = data;
                continue;
            }
            // Copied: each of many small pieces would keep a buffer of the connection.
            let mut whole = BytesMut::from(bytes);
            whole.extend_from_slice(&data);
            bytes = whole.freeze();
        }
        Ok((bytes, reserved))
    }

    async fn permit(
        &self,
        memory: Option<OwnedSemaphorePermit>,
        queue: Option<&WorkQueue>,
        until: Instant,
    ) -> Result<Admitted, ApiError> {
        let entry = queue.map(|queue| queue.enter().ok_or(ApiError::Overloaded)).transpose()?;
        let admitted = async {
            let turn = match entry {
                Some(entry) => Some(entry.await.ok_or(ApiError::Overloaded)?),
                None => None,
            };
            let permit = Arc::clone(&self.requests).acquire_owned().await;
            permit.map(|permit| Admitted { permit, turn, memory }).map_err(|_| ApiError::Overloaded)
        };
        in_time(until, admitted).await
    }
}

impl Admitted {
    async fn until_sent(self, response: Response) -> Response {
        drop((self.permit, self.turn));
        let size = response.body().size_hint().lower();
        let (Some(mut memory), Ok(size)) = (self.memory, usize::try_from(size)) else {
            return response;
        };
        if size <= SMALL_BYTES {
            return response;
        }
        let needed = memory.num_permits().min(units(size) as usize);
        let Some(memory) = memory.split(needed) else { return response };
        let (parts, body) = response.into_parts();
        // The body is one piece in memory, which is passed on and not copied.
        match body.collect().await {
            Ok(body) => {
                let answer = ReservedBytes { bytes: body.to_bytes(), _memory: memory };
                Response::from_parts(parts, Body::from(Bytes::from_owner(answer)))
            }
            Err(_) => ApiError::Internal.into_response(),
        }
    }
}

async fn in_time<T, E>(
    until: Instant,
    turn: impl Future<Output = Result<T, E>>,
) -> Result<T, ApiError> {
    timeout_at(until, turn).await.ok().and_then(Result::ok).ok_or(ApiError::Overloaded)
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(MEMORY_UNIT_BYTES)).unwrap_or(u32::MAX)
}

/// Lets a request wait for its permit, and refuses it if the wait is too long. The request then runs
/// within its limits. A request with a query parameter or a header twice, a coded body or conditions that the
/// function does not take is refused at once.
pub(crate) async fn admit(
    State((admission, function)): State<(Admission, FunctionLine)>,
    request: Request,
    next: Next,
) -> Response {
    let checked = parameters(request.uri().query())
        .and_then(|_| headers::check(request.headers()))
        .and_then(|()| conditions::check_taken(&request, function.signature.is_conditional));
    if let Err(error) = checked {
        return error.into_response();
    }
    match admission.admit(&function, request).await {
        Ok((admitted, request)) => {
            let (parts, body) = request.into_parts();
            // It has arrived whole.
            let Ok(body) = body.collect().await else { return ApiError::Internal.into_response() };
            let body = body.to_bytes();
            let handle = || {
                let request = Request::from_parts(parts.clone(), Body::from(body.clone()));
                next.clone().run(request)
            };
            let handled = confirmed(handle, is_refusal);
            let response = within_request(function.limits, handled).await;
            admitted.until_sent(response).await
        }
        Err(error) => error.into_response(),
    }
}

/// Returns true if the handler has refused the request. A throttled request has not been decided.
fn is_refusal(response: &Response) -> bool {
    let status = response.status();
    status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::{FutureExt, future::join_all, stream};
    use http_body_util::Full;
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::http::{AuthLevel, put};

    const KIB: usize = 1024;

    fn admission(requests: u16, memory_mib: u16) -> Admission {
        let wait = Duration::from_secs(10);
        Admission::new(AdmissionOptions { requests, memory_mib, wait })
    }

    /// Admits a request without a body that may need so many bytes.
    async fn admit(admission: &Admission, bytes: usize) -> Option<Admitted> {
        let until = Instant::now() + admission.wait;
        let memory = admission.memory.reserve(bytes, SMALL_BYTES, until).await.ok()?;
        admission.permit(memory, None, until).await.ok()
    }

    fn response(bytes: usize) -> Response {
        Response::new(Body::new(Full::new(Bytes::from(vec![b'x'; bytes]))))
    }

    fn free(admission: &Admission) -> (usize, usize) {
        (admission.requests.available_permits(), admission.memory.units.available_permits())
    }

    #[tokio::test]
    async fn the_bytes_of_an_answer_count_until_they_are_dropped() {
        let admission = admission(4, 8);
        let admitted = admit(&admission, 3 * KIB * KIB).await.unwrap();
        assert_eq!(free(&admission), (3, 5 * KIB));
        let mut body = admitted.until_sent(response(KIB * KIB)).await.into_body();
        // The server has the bytes and the body is at its end: they are still in memory.
        let bytes = body.frame().await.unwrap().unwrap().into_data().unwrap();
        drop(body);
        assert_eq!((bytes.len(), free(&admission)), (KIB * KIB, (4, 7 * KIB)));
        drop(bytes);
        assert_eq!(free(&admission), (4, 8 * KIB));
    }

    #[tokio::test]
    async fn a_body_arrives_within_30_seconds() {
        let defaults = admission(4, 8);
        assert_eq!(defaults.arrival_time, Duration::from_secs(30));
        let admission = Admission { arrival_time: Duration::from_millis(20), ..defaults };
        let line =
            put::<_, ()>("Put", "/put", AuthLevel::Function, async || StatusCode::NO_CONTENT).line;
        for method in [Method::PUT, Method::GET] {
            let body = Body::from_stream(stream::pending::<Result<Bytes, Infallible>>());
            let request =
                Request::builder().method(method).header("content-type", "application/json");
            let refused = admission.admit(&line, request.body(body).unwrap()).await.err().unwrap();
            assert!(
                matches!(refused, ApiError::Malformed(text) if text.contains("did not arrive"))
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Each request is a need and the size of its answer, and then its reader takes its time.
        #[test]
        fn all_requests_are_served_and_never_more_at_a_time_than_allowed(
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
                        let admitted = admit(&admission, need * KIB).await.expect("it is its turn");
                        let (permits, memory) = free(&admission);
                        assert!(permits < 3 && (need * KIB <= SMALL_BYTES || memory < 4 * KIB));
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
