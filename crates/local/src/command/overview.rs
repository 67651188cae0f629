//! The functions of an app by domain, and addresses to try.

use std::collections::BTreeSet;

use http::Method;

use super::api_document::ApiDocument;
use crate::demo::Demo;
use crate::host::{AuthLevel, Console, Function, FunctionApp, FunctionTrigger, HttpTrigger, Keys};

pub(super) struct Overview {
    pub(super) app: FunctionApp,
    pub(super) url: String,
    pub(super) document: Option<ApiDocument>,
}

impl Overview {
    pub(super) fn print_functions(&self, keys: Option<&Keys>, console: &Console) {
        let domains = if console.verbose { Vec::new() } else { self.domains() };
        if domains.is_empty() {
            console.heading("\nFunctions:\n");
            for function in self.app.functions() {
                let is_free = |http: &HttpTrigger| http.auth_level == AuthLevel::Anonymous;
                let is_locked = keys.is_some() && !function.http().is_none_or(is_free);
                let lock = if is_locked { " (key)" } else { "" };
                let address = function.address(&self.url);
                console.plain(&format!("\t{}: {address}{lock}", function.name));
            }
            for name in self.app.disabled() {
                console.plain(&format!("\t{name}: disabled"));
            }
        } else {
            console.heading("\nFunctions by domain (-v lists each with its address):\n");
            let width = domains.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
            for (mut name, lines) in domains {
                for line in lines {
                    console.plain(&format!("  {name:width$}  {line}"));
                    name = "";
                }
            }
        }
        if let Some(keys) = keys {
            console.plain(&format!("\n\tFunction key: {}", keys.function));
            console.plain(&format!("\tMaster key: {}", keys.master));
        }
        console.plain("");
    }

    pub(super) fn print_ready(&self, demos: &[Demo], console: &Console) {
        let addresses = self.to_try(demos);
        let width = addresses.iter().map(|(path, _)| path.len()).max().unwrap_or_default();
        let mut begin = "Ready:";
        for (path, what) in addresses {
            console.highlight(&format!("{begin:6}  {}/{path:width$}  {what}", self.url));
            begin = "";
        }
    }

    /// Returns paths to try, each with a few words: the page, queries, the OpenAPI document.
    fn to_try(&self, demos: &[Demo]) -> Vec<(String, String)> {
        let is_page = |function: &Function| {
            function
                .http()
                .is_some_and(|http| http.takes(&Method::GET) && http.template.matches("/"))
        };
        let has_page = self.app.functions().iter().any(is_page);
        let page = if has_page { "the page" } else { "the functions" };
        let mut paths = vec![(String::new(), page.to_owned())];
        for Demo { domain, to_try, .. } in demos {
            paths.push((format!("api/{to_try}"), format!("demo of {domain}")));
        }
        if demos.is_empty() {
            paths.extend(self.query());
        }
        let document = self.app.openapi_route();
        paths.extend(
            document.map(|path| (path.to_owned(), "the API as OpenAPI document".to_owned())),
        );
        paths
    }

    /// Returns path and name of a query that needs no key: one of the first domain, without parameters
    /// if there is one.
    fn query(&self) -> Option<(String, String)> {
        let document = self.document.as_ref()?;
        let domains: Vec<_> = document.domains().map(|(name, _)| name).collect();
        let queries = document.operations().filter(|operation| {
            let function = self.app.function(operation.name());
            let is_free = |http: &HttpTrigger| http.auth_level == AuthLevel::Anonymous;
            operation.method == Method::GET
                && function.and_then(Function::http).is_some_and(is_free)
        });
        let best = queries.min_by_key(|operation| {
            let domain = domains.iter().position(|name| operation.domain() == Some(name));
            let n_parameters = operation.route.matches('{').count();
            (domain.unwrap_or(usize::MAX), n_parameters, operation.route.len())
        })?;
        let path = best.example_path();
        Some((path.trim_start_matches('/').to_owned(), best.name().to_owned()))
    }

    /// Returns a few lines on the functions of each domain, in the order of the app; none if no document
    /// names the domains. The functions of no domain are those of the page and of unknown paths.
    fn domains(&self) -> Vec<(&str, Vec<String>)> {
        let Some(document) = &self.document else { return Vec::new() };
        let operations: Vec<_> = document.operations().collect();
        let lines = |(domain, triggered): (_, Vec<&str>)| {
            let has = |name: &str| {
                let mut named = operations.iter().filter(|operation| operation.name() == name);
                triggered.contains(&name) || named.any(|named| named.domain() == Some(domain))
            };
            (domain, self.lines(has))
        };
        document.domains().map(lines).collect()
    }

    fn lines(&self, has: impl Fn(&str) -> bool) -> Vec<String> {
        let functions = || self.app.functions().iter().filter(|function| has(&function.name));
        let names = |is: fn(&FunctionTrigger) -> bool| {
            let functions = functions().filter(|function| is(&function.trigger));
            functions.map(|function| function.name.clone()).collect::<Vec<_>>()
        };
        let routes: BTreeSet<_> = functions()
            .filter_map(Function::http)
            .map(|http| {
                let fixed = http.route.split('/').take_while(|segment| !segment.starts_with('{'));
                fixed.take(2).fold(String::new(), |begin, segment| begin + "/" + segment)
            })
            .collect();
        let n_http = functions().filter_map(Function::http).count();
        let disabled = self.app.disabled().iter().filter(|name| has(name));
        let lines = [
            (format!("{n_http} over HTTP:"), routes.into_iter().collect()),
            ("change feed:".into(), names(|trigger| matches!(trigger, FunctionTrigger::Cosmos(_)))),
            ("timer:".into(), names(|trigger| matches!(trigger, FunctionTrigger::Timer(_)))),
            ("disabled:".into(), disabled.cloned().collect()),
        ];
        let lines = lines.into_iter().filter(|(_, names)| !names.is_empty());
        lines.map(|(what, names)| format!("{what} {}", names.join(", "))).collect()
    }
}
