//! The functions that the handler claims to serve, compared with the folders of the app.
//!
//! The `custom-handler` crate names them in a header of its answer to `GET /`, which the Functions host
//! requests too and does not read.

use std::collections::BTreeSet;

use http_body_util::BodyExt as _;
use serde_json::Value;

use super::app::FunctionApp;
use super::function::FunctionTrigger;
use super::invoke::HandlerClient;

/// The header with the names of the functions, separated by commas.
const FUNCTIONS_HEADER: &str = "x-custom-handler-functions";

/// The end of the route of the function that serves the OpenAPI document.
const OPENAPI_FILE: &str = "openapi.json";

/// Asks the handler; returns `None` if its answer lacks the header.
pub(super) async fn ask(client: &HandlerClient, url: &str) -> Option<BTreeSet<String>> {
    let response = client.get(url.parse().ok()?).await.ok()?;
    let names = response.headers().get(FUNCTIONS_HEADER)?.to_str().ok()?;
    Some(names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Asks the handler for the OpenAPI document that one of its functions serves; returns `None` if it
/// has none.
pub(super) async fn openapi(client: &HandlerClient, url: &str, app: &FunctionApp) -> Option<Value> {
    let mut functions = app.functions().iter();
    let route = functions.find_map(|function| match &function.trigger {
        FunctionTrigger::Http(http) if http.route.ends_with(OPENAPI_FILE) => Some(&http.route),
        _ => None,
    })?;
    let url = format!("{url}/{}", app.host().full_route(route)).parse().ok()?;
    let body = client.get(url).await.ok()?.into_body().collect().await.ok()?;
    serde_json::from_slice(&body.to_bytes()).ok()
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
