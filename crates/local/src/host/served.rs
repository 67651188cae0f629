//! The functions that the handler says it serves, beside the folders that the host calls them by.
//!
//! The `custom-handler` crate names them in a header of its answer to `GET /`, which the Functions
//! host asks too and does not read.

use std::collections::BTreeSet;

use super::app::FunctionApp;
use super::invoke::HandlerClient;

/// The header with the names of the functions, separated by commas.
const FUNCTIONS: &str = "x-custom-handler-functions";

/// Asks the handler; `None` when it does not say.
pub(super) async fn ask(client: &HandlerClient, url: &str) -> Option<BTreeSet<String>> {
    let response = client.get(url.parse().ok()?).await.ok()?;
    let names = response.headers().get(FUNCTIONS)?.to_str().ok()?;
    Some(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Returns what is wrong, a sentence each: the handler answers and the host never calls it, or the
/// other way round.
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
