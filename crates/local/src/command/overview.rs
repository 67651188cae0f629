//! The functions of an app by domain, and addresses to try.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;

use super::api_document::ApiDocument;
use crate::demo::Demo;
use crate::host::routes::Template;
use crate::host::{AuthLevel, Console, Function, FunctionApp, FunctionTrigger, HttpTrigger, Keys};

/// An app with its address, as a newcomer gets to know it.
pub(super) struct Overview {
    app: FunctionApp,
    url: String,
    /// The OpenAPI document, if a function serves one.
    document: Option<ApiDocument>,
}

/// The functions of a domain.
#[derive(Default)]
struct DomainFunctions<'a> {
    n_http: usize,
    /// The beginnings of the routes.
    routes: BTreeSet<String>,
    feeds: Vec<&'a str>,
    timers: Vec<&'a str>,
    disabled: Vec<&'a str>,
}

impl Overview {
    /// Creates the overview of an app that answers at `url`.
    pub(super) fn new(app: FunctionApp, url: &str, document: Option<ApiDocument>) -> Self {
        Self { app, url: url.to_owned(), document }
    }

    /// Prints the functions: those of each domain in a few lines, or each with its address.
    pub(super) fn print_functions(&self, keys: Option<&Keys>, console: &Console) {
        let domains = self.domains().filter(|_| !console.is_verbose());
        if let Some(domains) = domains {
            console.heading("\nFunctions by domain (-v lists each with its address):\n");
            let names = domains.iter().map(|(name, _)| name.len());
            let width = names.max().unwrap_or_default();
            for (name, functions) in &domains {
                for (n, line) in functions.lines().iter().enumerate() {
                    let name = if n == 0 { *name } else { "" };
                    console.plain(&format!("  {name:width$}  {line}"));
                }
            }
        } else {
            console.heading("\nFunctions:\n");
            for function in self.app.functions() {
                console.plain(&format!("\t{}: {}", function.name, self.address(function, keys)));
            }
            for name in self.app.disabled() {
                console.plain(&format!("\t{name}: disabled"));
            }
        }
        if let Some(keys) = keys {
            console.plain(&format!("\n\tFunction key: {}", keys.function));
            console.plain(&format!("\tMaster key: {}", keys.master));
        }
        console.plain("");
    }

    /// Prints that the app is ready, with addresses to try.
    pub(super) fn print_ready(&self, demos: &[Demo], console: &Console) {
        let addresses = self.to_try(demos);
        let width = addresses.iter().map(|(url, _)| url.len()).max().unwrap_or_default();
        for (n, (url, what)) in addresses.iter().enumerate() {
            let begin = if n == 0 { "Ready:" } else { "" };
            console.highlight(&format!("{begin:6}  {url:width$}  {what}"));
        }
    }

    /// Returns the address of the page, or of the list of functions that the host shows instead.
    pub(super) fn page_url(&self) -> String {
        format!("{}/", self.url)
    }

    /// Returns addresses to try, each with a few words: the page, queries, the OpenAPI document.
    fn to_try(&self, demos: &[Demo]) -> Vec<(String, String)> {
        let page = if self.has_page() { "the page" } else { "the functions as a page" };
        let mut addresses = vec![(self.page_url(), page.to_owned())];
        for Demo { domain, to_try, .. } in demos {
            addresses.push((format!("{}/api/{to_try}", self.url), format!("demo of {domain}")));
        }
        if demos.is_empty()
            && let Some((name, path)) = self.query()
        {
            addresses.push((format!("{}{path}", self.url), name));
        }
        let mut functions = self.app.functions().iter();
        let document = functions.find_map(|function| match &function.trigger {
            FunctionTrigger::Http(http) if http.route.ends_with("openapi.json") => {
                Some(self.app.host().full_route(&http.route))
            }
            _ => None,
        });
        let document = document.map(|route| format!("{}/{route}", self.url));
        addresses.extend(document.map(|url| (url, "the API as OpenAPI document".to_owned())));
        addresses
    }

    /// Returns name and path of a query that needs no key: one of the first domain, without parameters
    /// if there is one.
    fn query(&self) -> Option<(String, String)> {
        let documented = self.document.as_ref().and_then(|document| {
            let domains: Vec<_> = document.domains().map(|(name, _)| name).collect();
            let rank = |domain: &str| domains.iter().position(|name| *name == domain);
            let queries = document.operations().filter(|operation| {
                let function = self.app.function(operation.name());
                operation.method == Method::GET && function.is_some_and(is_anonymous_query)
            });
            let best = queries.min_by_key(|operation| {
                let domain = operation.domain().and_then(rank).unwrap_or(usize::MAX);
                (domain, operation.route.matches('{').count(), operation.route.len())
            })?;
            Some((best.name().to_owned(), best.example_path()))
        });
        documented.or_else(|| {
            let plain = self.app.functions().iter().find_map(|function| {
                let route = &http(function)?.route;
                let is_plain = is_anonymous_query(function) && !route.contains('{');
                is_plain.then(|| (function.name.clone(), self.app.host().full_route(route)))
            })?;
            Some((plain.0, format!("/{}", plain.1)))
        })
    }

    /// Returns true if a function of the app answers at `/`.
    fn has_page(&self) -> bool {
        self.app.functions().iter().filter_map(http).any(|http| {
            let route = self.app.host().full_route(&http.route);
            takes(http, &Method::GET)
                && Template::parse(&route).is_ok_and(|template| template.matches("/"))
        })
    }

    /// Returns the functions of each domain, in the order of the app; `None` if no document names the
    /// domains.
    fn domains(&self) -> Option<Vec<(&str, DomainFunctions<'_>)>> {
        let document = self.document.as_ref()?;
        let mut domains: Vec<(&str, DomainFunctions<'_>)> = Vec::new();
        let mut domain_of = BTreeMap::new();
        for (name, functions) in document.domains() {
            domain_of
                .extend(functions.into_iter().map(|function| (function.to_owned(), domains.len())));
            domains.push((name, DomainFunctions::default()));
        }
        for operation in document.operations() {
            let domain = operation.domain();
            if let Some(n) = domains.iter().position(|(name, _)| domain == Some(*name)) {
                domain_of.insert(operation.name().to_owned(), n);
            }
        }
        for function in self.app.functions() {
            // The functions of no domain are those of the page and of unknown paths.
            if let Some(n) = domain_of.get(&function.name) {
                domains[*n].1.add(function, &self.app);
            }
        }
        for name in self.app.disabled() {
            if let Some(n) = domain_of.get(name) {
                domains[*n].1.disabled.push(name);
            }
        }
        (!domains.is_empty()).then_some(domains)
    }

    /// Returns the address of a function, or what starts it.
    fn address(&self, function: &Function, keys: Option<&Keys>) -> String {
        match &function.trigger {
            FunctionTrigger::Http(http) => {
                let methods: Vec<_> = http.methods.iter().map(Method::as_str).collect();
                let methods = methods.join(",");
                let locked = keys.is_some() && http.auth_level != AuthLevel::Anonymous;
                let lock = if locked { " (key)" } else { "" };
                let route = self.app.host().full_route(&http.route);
                let methods = if methods.is_empty() { methods } else { format!("[{methods}] ") };
                format!("{methods}{}/{route}{lock}", self.url)
            }
            FunctionTrigger::Cosmos(trigger) => {
                format!("cosmosDBTrigger on {}/{}", trigger.database, trigger.container)
            }
            FunctionTrigger::Timer(timer) => format!("timerTrigger at {}", timer.schedule.as_str()),
        }
    }
}

impl<'a> DomainFunctions<'a> {
    fn add(&mut self, function: &'a Function, app: &FunctionApp) {
        match &function.trigger {
            FunctionTrigger::Http(http) => {
                self.n_http += 1;
                let route = app.host().full_route(&http.route);
                let fixed = route.split('/').take_while(|segment| !segment.starts_with('{'));
                self.routes
                    .insert(fixed.take(2).fold(String::new(), |all, segment| all + "/" + segment));
            }
            FunctionTrigger::Cosmos(_) => self.feeds.push(&function.name),
            FunctionTrigger::Timer(_) => self.timers.push(&function.name),
        }
    }

    fn lines(&self) -> Vec<String> {
        let routes: Vec<_> = self.routes.iter().map(String::as_str).collect();
        let http = format!("{} over HTTP:", self.n_http);
        let lines = [
            (http.as_str(), &routes),
            ("change feed:", &self.feeds),
            ("timer:", &self.timers),
            ("disabled:", &self.disabled),
        ];
        let lines = lines.into_iter().filter(|(_, names)| !names.is_empty());
        lines.map(|(what, names)| format!("{what} {}", names.join(", "))).collect()
    }
}

fn http(function: &Function) -> Option<&HttpTrigger> {
    match &function.trigger {
        FunctionTrigger::Http(http) => Some(http),
        _ => None,
    }
}

fn takes(http: &HttpTrigger, method: &Method) -> bool {
    http.methods.is_empty() || http.methods.contains(method)
}

/// Returns true for a function that can be tried in a browser.
fn is_anonymous_query(function: &Function) -> bool {
    http(function).is_some_and(|http| {
        http.auth_level == AuthLevel::Anonymous
            && takes(http, &Method::GET)
            && !http.route.ends_with("openapi.json")
    })
}
