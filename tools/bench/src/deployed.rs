//! The app as it is deployed, in this process.

use anyhow::ensure;
use serde_json::Value;
use tributary_functions::program::Program;
use tributary_testing::{Answer, AppUnderTest};

/// The app, as it is deployed.
pub(crate) struct Deployed;

impl AppUnderTest for Deployed {
    const ROOT: &'static str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    fn program() -> Program {
        tributary::program()
    }
}

/// The app on an empty account.
pub(crate) type World = tributary_testing::World<Deployed>;

/// Sends a request; the answer must be a success.
pub(crate) async fn send(
    instance: &World,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &Value,
) -> anyhow::Result<Answer> {
    let body = Some(body.clone()).filter(|body| !body.is_null());
    let answer = instance.call(method, path, headers, body).await;
    ensure!(answer.status.is_success(), "{method} {path}: {} {}", answer.status, answer.text);
    Ok(answer)
}
