//! The page at `/` of an app that has none of its own: its functions.

use std::fmt::Write as _;

use http::Method;

use super::app::FunctionApp;
use super::function::FunctionTrigger;

/// Returns the page.
pub(super) fn html(app: &FunctionApp) -> String {
    let mut rows = String::new();
    for function in app.functions() {
        let what = match &function.trigger {
            FunctionTrigger::Http(http) => {
                let methods: Vec<_> = http.methods.iter().map(Method::as_str).collect();
                let route = format!("/{}", escaped(&app.host().full_route(&http.route)));
                let is_link = methods.contains(&"GET") && !route.contains('{');
                let address =
                    if is_link { format!("<a href=\"{route}\">{route}</a>") } else { route };
                format!("{} {address}", methods.join(", "))
            }
            FunctionTrigger::Cosmos(trigger) => {
                format!("after changes of {}", escaped(&trigger.container))
            }
            FunctionTrigger::Timer(timer) => format!("at {}", escaped(timer.schedule.as_str())),
        };
        // A write to a text never fails.
        let _ = writeln!(rows, "<tr><th scope=\"row\">{}<td>{what}", escaped(&function.name));
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>cargo local</title>\n\
         <style>body {{ font: 16px system-ui; margin: 2em }} th {{ text-align: left; padding-right: 1em }} \
         :root {{ color-scheme: light dark }}</style>\n\
         <h1>The function app is running</h1>\n\
         <p>No function of it answers at <code>/</code>. These are its functions:\n<table>\n{rows}</table>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
