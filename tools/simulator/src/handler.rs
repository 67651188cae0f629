//! The app of this workspace, built beside this program.

use std::path::Path;

use futures::{FutureExt as _, future::BoxFuture};
use tributary_local::client::{Call, Client};
use tributary_local::host::{BuiltApp, BuiltAppError};
use tributary_simulator::{Api, Reply};

use crate::poison;

/// Loads the app of this workspace, on a store.
pub(crate) fn app(connection: &str) -> Result<BuiltApp, BuiltAppError> {
    BuiltApp::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), connection)
}

/// The API behind a URL. It removes the poisoned items from lists.
pub(crate) struct HttpApi(Client);

impl HttpApi {
    pub(crate) fn new(url: &str) -> anyhow::Result<Self> {
        Ok(Self(Client::new(url)?))
    }
}

impl Api for HttpApi {
    fn send(&self, call: Call) -> BoxFuture<'_, Option<Reply>> {
        async move {
            let reply = self.0.send(&call).await.ok()?;
            let mut reply = Reply::new(reply.status, &reply.headers, &reply.body);
            poison::without(&mut reply.body);
            Some(reply)
        }
        .boxed()
    }
}
