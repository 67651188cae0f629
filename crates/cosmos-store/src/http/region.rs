//! A second region of the account, for reading, which lags behind the first one.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, PoisonError, RwLock, Weak},
    time::Duration,
};

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Request, Response};
use tokio::{net::TcpListener, time::interval};

use super::{
    Server, Service,
    answer::Answer,
    call::{self, name},
    server::listen,
    tls::Tls,
};
use crate::{
    Refusal,
    engine::{Engine, View},
};

/// The states that are kept: what is read is between seven eighths of the lag and the lag old.
const STATES: u32 = 8;

/// The states of the time of the lag, the oldest first.
type States = RwLock<VecDeque<View>>;

/// Serves both regions.
pub(super) async fn serve(service: &Service, to: SocketAddr, lag: Duration) -> io::Result<Server> {
    let next = match to.port() {
        0 => 0,
        port => port.checked_add(1).ok_or(io::ErrorKind::AddrNotAvailable)?,
    };
    let first = TcpListener::bind(to).await?;
    let second = TcpListener::bind(SocketAddr::new(to.ip(), next)).await;
    let second = second
        .map_err(|error| io::Error::other(format!("port {next} of the second region: {error}")))?;
    let ports = [first.local_addr()?.port(), second.local_addr()?.port()];
    let service = Service { ports: Some(ports), ..service.clone() };
    let tls = Tls::of(&service.options)?;
    let states = Arc::new(States::new([service.engine.view()].into()));
    tokio::spawn(follow(Arc::downgrade(&states), service.engine.clone(), lag / STATES));

    let options = Arc::clone(&service.options);
    let write_region = service.clone().handler();
    let mut server = listen(first, tls.as_ref(), Arc::clone(&options), write_region)?;
    let read_region = Box::new(move |request| {
        let (service, states) = (service.clone(), Arc::clone(&states));
        async move { read(&service, &states, request).await }.boxed()
    });
    server.read_region = Some(listen(second, tls.as_ref(), options, read_region)?.into());
    Ok(server)
}

/// Adds the newest state at each step of time, until the server has ended.
async fn follow(states: Weak<States>, engine: Engine, step: Duration) {
    let mut steps = interval(step.max(Duration::from_millis(1)));
    loop {
        steps.tick().await;
        let Some(states) = states.upgrade() else { return };
        let mut states = states.write().unwrap_or_else(PoisonError::into_inner);
        states.push_back(engine.view());
        let oldest = if states.len() > STATES as usize { states.pop_front() } else { None };
        // The end of a state can be that of a large container, for which readers are not to wait.
        drop(states);
        drop(oldest);
    }
}

/// Answers a request in the second region. Clients send writes to the first one, when they are refused here.
async fn read(service: &Service, states: &States, request: Request<Bytes>) -> Response<Bytes> {
    if !call::reads(&request) && !call::is(&request, name::PLAN) {
        let text = "The requested operation cannot be performed at this region";
        let refusal = Refusal::new(403, text).with_sub_status(3);
        return Answer::refusal(&refusal).into_response(&request);
    }
    let state = states.read().unwrap_or_else(PoisonError::into_inner).front().cloned();
    service.answer(request, state.as_ref()).await
}
