//! The functions that the handler claims to serve, compared with the folders of the app.
//!
//! The `custom-handler` crate names them in a header of its answer to `GET /`, which the Functions host
//! requests too and does not read.

use std::collections::BTreeSet;

use super::app::FunctionApp;
use super::invoke::HandlerClient;

/// The header with the names of the functions, separated by commas.
const FUNCTIONS_HEADER: &str = "x-custom-handler-functions";

/// Asks the handler; returns `None` if its answer lacks the header.
pub(super) async fn ask(client: &HandlerClient, url: &str) -> Option<BTreeSet<String>> {
    let response = client.get(url.parse().ok()?).await.ok()?;
    let names = response.headers().get(FUNCTIONS_HEADER)?.to_str().ok()?;
    Some(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Returns the differences, a sentence each: functions that the host never calls, and functions that
/// the handler does not serve.
pub(super) fn mismatches(app: &FunctionApp, served: &BTreeSet<String>) -> Vec<String> {
    let enabled = app.functions().iter().map(|function| &function.name);
    let folders: BTreeSet<&String> = enabled.chain(app.disabled()).collect();
    let without_folder = served.iter().filter(|name| !folders.contains(name)).map(|name| {
        format!(
            "{name} has no folder: the handler serves it, and the host never calls it. Add \
             functions/{name}/function.json"
        )
    });
    let without_function = folders.iter().filter(|name| !served.contains(**name)).map(|name| {
        format!(
            "{name} has a folder, and the handler does not serve it: add it to the app, or remove \
             functions/{name}"
        )
    });
    without_folder.chain(without_function).collect()
}
