//! The store behind the endpoint: every request passes here on its way to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmos_store::engine::Engine;
use cosmos_store::http::{ItemsOperation, Operation, Options, Service};
use http::{Request, Response};

use super::EndpointOptions;
use super::faults::{Fault, Faults, Holds, RequestFault};
use super::replicas::{self, Replicas, Splits};
use super::requests::{RequestLog, StoreAnswer, StoreRequest};
use crate::chaos::ChaosKind;

pub(super) type Bytes = bytes::Bytes;

#[derive(Debug)]
pub(super) struct EndpointStore {
    pub(super) service: Service,
    pub(super) requests: RequestLog,
    pub(super) faults: Faults,
    pub(super) holds: Holds,
    pub(super) replicas: Replicas,
    expiry_interval: Option<Duration>,
    /// True if a task removes expired items.
    expires: AtomicBool,
    splits: Option<Arc<Splits>>,
}

impl EndpointStore {
    pub(super) fn new(options: EndpointOptions) -> std::io::Result<Self> {
        let EndpointOptions { partitions, allowed_hosts, chaos, .. } = options;
        let engine = Engine::open(options.data.as_deref())?;
        let of_service = Options { partitions, allowed_hosts, ..Options::default() };
        Ok(Self {
            replicas: Replicas::new(engine.clone(), chaos.as_ref()),
            service: Service::new(engine, of_service),
            requests: RequestLog::new(options.keep_requests),
            expiry_interval: options.expiry_interval,
            expires: AtomicBool::new(false),
            splits: chaos.clone().map(Splits::new).map(Arc::new),
            faults: Faults { chaos, pending: std::sync::Mutex::default() },
            holds: Holds::default(),
        })
    }

    /// Starts the task that removes expired items, once. It ends with the account.
    pub(super) fn start_expiry(self: &Arc<Self>) {
        let Some(interval) = self.expiry_interval else { return };
        if self.expires.swap(true, Ordering::Relaxed) {
            return;
        }
        let store = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(interval).await;
                let Some(store) = store.upgrade() else { return };
                store.expire_items(SystemTime::now()).await;
            }
        });
    }

    pub(super) async fn expire_items(&self, now: SystemTime) -> usize {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
        self.service.engine().expire(i64::try_from(now).unwrap_or(i64::MAX)).await
    }

    /// Answers a request whose signature has been checked.
    pub(super) async fn answer(&self, request: Request<Bytes>) -> Response<Bytes> {
        let Operation::Items(operation) = self.service.operation(&request) else {
            return self.service.answer(request, None).await;
        };
        let place = self.requests.add(|| StoreRequest::new(&operation, &request));
        let answer = self.answer_items(&operation, request).await;
        self.requests.answered(place, || StoreAnswer::new(&operation, &answer));
        answer
    }

    async fn answer_items(
        &self,
        operation: &ItemsOperation,
        request: Request<Bytes>,
    ) -> Response<Bytes> {
        let (kind, [_, container]) = (operation.kind, &operation.names);
        if !self.holds.wait(kind, container).await {
            return RequestFault::of(Fault::Refused(503)).answer();
        }
        let met = self.faults.take(kind, container);
        if let Some(met) = met
            && met.fault != Fault::AnswerLost
        {
            return met.answer();
        }
        if let Some(splits) = &self.splits
            && splits.is_splitting(operation.container)
        {
            return RequestFault::of(Fault::RefusedWith(410, 1007)).answer();
        }
        let answer = if kind.writes() {
            self.service.answer(request, None).await
        } else {
            self.read(operation, request).await
        };
        if let Some(splits) = &self.splits
            && kind.writes()
        {
            splits.after_write(self.service.engine(), operation);
        }
        met.map_or(answer, RequestFault::answer)
    }

    /// Answers a read from a state that is old, if the request accepts one, and otherwise from the newest one.
    async fn read(&self, operation: &ItemsOperation, request: Request<Bytes>) -> Response<Bytes> {
        let (states, by_chance) = self.replicas.candidates(operation, &request);
        for state in &states {
            let answer = self.service.answer(request.clone(), Some(state)).await;
            if !replicas::is_usable(&answer) {
                continue;
            }
            if let Some(chaos) = by_chance {
                let newest = self.service.answer(request, None).await;
                if (newest.status(), newest.body()) != (answer.status(), answer.body()) {
                    let [_, container] = &operation.names;
                    let what = format_args!("{:?} in {container}", operation.kind);
                    chaos.note(ChaosKind::Stale, what);
                }
            }
            return answer;
        }
        self.service.answer(request, None).await
    }
}
