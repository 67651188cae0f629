//! A request of each function that the function takes, made from the examples in the OpenAPI document: those
//! of the types of its path, its query and its body. The answers of commands fit the document. An item with
//! an id of the server is named by the `Location` of the answer that created the item.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    iter, mem,
};

use serde_json::{Value, json};
use tributary_functions::{app::Trigger, http::HttpFunction};

use super::openapi::OpenApiDocument;
use crate::{Answer, AppUnderTest, World};

/// The beginning of the probe in each text that a check sends. No text of an app has it.
pub(super) const PROBE: &str = "sesame";

const FRAMEWORK: &str = "tributary_functions::app";

/// The number of dead letters for the functions that read, replay and delete one each.
const DEAD_LETTERS: usize = 4;

/// A function, with the domain whose table has its line.
#[derive(Clone)]
pub(super) struct Listed {
    pub(super) domain: &'static str,
    pub(super) function: HttpFunction,
    /// The probe of the texts that this function gets.
    pub(super) probe: String,
}

pub(super) struct Example {
    pub(super) of: Listed,
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

pub(super) struct Examples {
    document: OpenApiDocument,
    pending: Vec<Listed>,
    /// The examples of all parameters in paths.
    ids: BTreeSet<String>,
    /// The end of each id and text.
    set: &'static str,
    /// The paths of items with an id of the server.
    locations: Vec<String>,
    refusals: BTreeMap<&'static str, String>,
    /// The values that were sent and that no answer may have: those of `writeOnly` fields.
    pub(super) secrets: BTreeSet<String>,
}

impl Listed {
    pub(super) fn all<A: AppUnderTest>() -> Vec<Self> {
        let app = A::program().describe().unwrap();
        let domains = app.domains.iter();
        let domains = domains.flat_map(|domain| domain.http_functions.iter().map(|_| domain.name));
        // Those of the framework are behind those of all domains.
        let domains = domains.chain(iter::repeat(FRAMEWORK));
        let listed = app.http_functions().cloned().zip(domains).enumerate().map(
            |(n, (function, domain))| Self { domain, function, probe: format!("{PROBE}{n:03}") },
        );
        listed.collect()
    }

    /// Returns the place of the function's line, for an error.
    pub(super) fn line(&self) -> String {
        format!("the line of {} in the table of the domain `{}`", self.function.name, self.domain)
    }

    fn is_of(&self, methods: &[&str]) -> bool {
        methods.contains(&self.function.method.as_str())
    }
}

impl Example {
    pub(super) async fn send<A: AppUnderTest>(
        &self,
        world: &World<A>,
        headers: &[(&str, &str)],
    ) -> Answer {
        let method = self.of.function.method.as_str();
        let answer = world.call(method, &self.path, headers, self.body.clone()).await;
        // Caches know an answer by its URL, and not by a key.
        let function = &self.of.function;
        let is_public = !function.auth_level.needs_key() && !function.signature.is_personal;
        let rule = if is_public { "no-cache" } else { "no-store" };
        assert_eq!(answer.header("cache-control"), rule, "{}", self.of.function.name);
        assert_eq!(answer.header("vary"), "Consistency-Token, Cookie");
        answer
    }
}

impl Examples {
    /// Returns the examples of an app; those of another set have ids and texts that end with it.
    pub(super) fn of<A: AppUnderTest>(set: &'static str) -> Self {
        let document = OpenApiDocument::of::<A>();
        let pending = Listed::all::<A>();
        let mut ids = BTreeSet::new();
        for Listed { function, .. } in &pending {
            for (_, schema) in document.path_parameters(function) {
                ids.extend(document.example(schema).as_str().map(str::to_owned));
            }
        }
        let (locations, refusals, secrets) = Default::default();
        Self { document, pending, ids, set, locations, refusals, secrets }
    }

    /// Returns the ids in a request that may be those of a user: the values of the path, and the texts of
    /// the body that are examples of values of a path.
    pub(super) fn ids_in(&self, example: &Example) -> Vec<String> {
        let mut ids: Vec<String> = example.path.split('/').skip(2).map(str::to_owned).collect();
        let members = example.body.iter().flat_map(texts);
        ids.extend(members.filter(|text| self.ids.iter().any(|id| *text == self.with_set(id))));
        ids
    }

    pub(super) fn user<A: AppUnderTest>(&self) -> Option<String> {
        A::USER.map(|user| self.with_set(user))
    }

    pub(super) fn with_set(&self, text: &str) -> String {
        format!("{text}{}", self.set)
    }

    /// Sends each PUT and POST until it has succeeded: some need what others create.
    pub(super) async fn create<A: AppUnderTest>(
        &mut self,
        world: &World<A>,
        mut send: impl AsyncFnMut(&Self, &Example) -> Answer,
    ) {
        self.rounds(&["PUT", "POST"], &mut send).await;
        self.add_operator_items(world).await;
        self.rounds(&["PUT", "POST"], &mut send).await;
    }

    pub(super) async fn read(&mut self, mut send: impl AsyncFnMut(&Self, &Example) -> Answer) {
        self.rounds(&["GET"], &mut send).await;
    }

    pub(super) async fn delete(&mut self, mut send: impl AsyncFnMut(&Self, &Example) -> Answer) {
        self.rounds(&["DELETE"], &mut send).await;
    }

    /// Ends the examples.
    pub(super) fn all_have_succeeded(self) {
        let missing = self.pending.iter().map(|listed| {
            let name = listed.function.name;
            let refusal = self.refusals.get(name).map_or("", String::as_str);
            format!(
                "{name} does not take its example: {refusal}\nThe examples have to go together. The \
                 example of a type stands after its name in `checked_text!`; that of a parameter of the \
                 query is `QueryParameter::example`. Where those of a body cannot go together, add \
                 `.example(…)` to {}.",
                listed.line()
            )
        });
        let missing: Vec<String> = missing.collect();
        assert!(missing.is_empty(), "\n\n{}\n", missing.join("\n\n"));
    }

    /// Sends the pending requests of these methods until none of them succeeds any more. What is below
    /// another item is deleted first.
    async fn rounds(
        &mut self,
        methods: &[&str],
        send: &mut impl AsyncFnMut(&Self, &Example) -> Answer,
    ) {
        let pending = mem::take(&mut self.pending).into_iter();
        let mut now;
        (now, self.pending) = pending.partition(|listed| listed.is_of(methods));
        if methods == ["DELETE"] {
            now.sort_by_key(|listed| Reverse(listed.function.route.split('/').count()));
        }
        loop {
            let n_before = now.len();
            for listed in mem::take(&mut now) {
                if !self.succeeds(&listed, send).await {
                    now.push(listed);
                }
            }
            if now.len() == n_before {
                self.pending.append(&mut now);
                return;
            }
        }
    }

    async fn succeeds(
        &mut self,
        listed: &Listed,
        send: &mut impl AsyncFnMut(&Self, &Example) -> Answer,
    ) -> bool {
        for path in self.paths(listed) {
            let (body, secrets) = self.body(listed).unzip();
            self.secrets.extend(secrets.into_iter().flatten());
            let example = Example { of: listed.clone(), path, body };
            let answer = send(self, &example).await;
            if answer.status.is_success() {
                if listed.is_of(&["PUT", "POST"]) {
                    self.document.check(listed.function.method.as_str(), &example.path, &answer);
                }
                let location = answer.header("location");
                self.locations.extend((!location.is_empty()).then(|| location.to_owned()));
                return true;
            }
            let method = &listed.function.method;
            let refusal =
                format!("{method} {}: {} {}", example.path, answer.status.as_u16(), answer.text);
            self.refusals.insert(listed.function.name, refusal);
        }
        false
    }

    /// Returns the paths that a function may take: of the examples, of the items that have been created,
    /// and each with one parameter of the query.
    fn paths(&self, listed: &Listed) -> Vec<String> {
        let mut paths = vec![self.path(listed)];
        for location in self.locations.iter().rev() {
            let path = self.path_at(listed, location);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let parameters = self.parameters(listed);
        let with_each = paths
            .iter()
            .flat_map(|path| parameters.iter().map(move |parameter| format!("{path}?{parameter}")));
        let with_each: Vec<String> = with_each.collect();
        [paths, with_each].concat()
    }

    pub(super) fn path(&self, listed: &Listed) -> String {
        self.path_at(listed, "")
    }

    /// Returns the path of a function, with the parameters of a location as far as that has the same
    /// route, and those of the examples.
    fn path_at(&self, listed: &Listed, location: &str) -> String {
        let function = &listed.function;
        let examples: BTreeMap<_, _> = self.document.path_parameters(function).collect();
        let mut located = location.split('/');
        let mut is_same_route = true;
        let segments = function.route.split('/').map(|segment| {
            let located = located.next();
            let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
            else {
                is_same_route &= located == Some(segment);
                return segment.to_owned();
            };
            let example = || {
                let schema = examples.get(name).copied().unwrap_or(&Value::Null);
                let example = (!schema.is_null()).then(|| self.document.example(schema));
                let example = example.as_ref().and_then(Value::as_str).unwrap_or_else(|| {
                    panic!(
                        "The path parameter `{name}` has no example of a text. Take it as `Params` of a \
                         type with `#[schemars(example = …)]` in the handler of {}.",
                        listed.line()
                    )
                });
                self.with_set(example)
            };
            located.filter(|_| is_same_route).map_or_else(example, str::to_owned)
        });
        segments.collect::<Vec<_>>().join("/")
    }

    /// Returns the parameters of the query that have an example, each as `name=value`.
    pub(super) fn parameters(&self, listed: &Listed) -> Vec<String> {
        let parameters = self.document.operation(&listed.function)["parameters"].as_array();
        let pairs = parameters.into_iter().flatten().filter_map(|parameter| {
            (parameter["in"] == "query").then_some(())?;
            Some(format!("{}={}", parameter["name"].as_str()?, parameter["example"].as_str()?))
        });
        pairs.collect()
    }

    pub(super) fn example(&self, listed: &Listed) -> Option<Example> {
        let (body, _) = self.body(listed)?;
        Some(Example { of: listed.clone(), path: self.path(listed), body: Some(body) })
    }

    /// Returns true if a query reads what is under the path of a request.
    pub(super) fn is_item(&self, example: &Example) -> bool {
        !self.document.operation_at("GET", &example.path).1.is_null()
    }

    /// Returns the body of a function with other texts.
    pub(super) fn edit(&self, listed: &Listed) -> Option<Value> {
        let again = Listed { probe: format!("{}-again", listed.probe), ..listed.clone() };
        self.body(&again).map(|(body, _)| body)
    }

    /// Returns the body of a function, and the values in it that no answer may have. Each of its texts has a
    /// probe, except ids, dates, choices and e-mail addresses.
    fn body(&self, listed: &Listed) -> Option<(Value, BTreeSet<String>)> {
        let schema = self.document.body(&listed.function)?;
        let mut secrets = BTreeSet::new();
        let mut with_probe = |schema: &Value, text: &str| {
            // A sign-in names its user by the address of the registration.
            if self.ids.contains(text) || schema["format"] == "email" {
                return self.with_set(text);
            }
            let is_secret = schema["writeOnly"] == true;
            let probe = if is_secret { PROBE } else { &listed.probe };
            let text = self.with_set(&format!("{text}{probe}"));
            secrets.extend(is_secret.then(|| text.clone()));
            text
        };
        let body = self.document.with_texts(schema, self.document.example(schema), &mut with_probe);
        Some((body, secrets))
    }

    /// Adds what the functions of the framework need: the names of the projections, dead letters of them, and
    /// leases without an owner. An item of each projection's container arrives in a form that no program can
    /// read.
    async fn add_operator_items<A: AppUnderTest>(&mut self, world: &World<A>) {
        let app = A::program().describe().unwrap();
        let projections = app.domains.iter().flat_map(|domain| &domain.projections);
        for projection in projections.clone() {
            let items = world.items(projection.container_id()).await;
            for n in 0..DEAD_LETTERS {
                let mut item = items.first().cloned().unwrap_or_else(|| json!({}));
                item["id"] = json!(format!("unreadable-{n}{}", self.set));
                for property in ["type", "version"] {
                    item[property] = json!({"of": "another program"});
                }
                world.deliver(projection.function(), &[item]).await.unwrap();
            }
            self.locations.push(format!("/api/projections/{}", projection.function()));
        }
        if projections.count() == 0 {
            self.pending.retain(|listed| listed.domain != FRAMEWORK);
        }
        world.settle().await;
        for mut lease in world.items("leases").await {
            if lease.get("LeaseToken").is_some() {
                lease["Owner"] = Value::Null;
                world.write_item("leases", &lease).await;
            }
        }
        for letter in world.list("/api/dead-letters").await {
            self.locations.push(format!("/api/dead-letters/{}", letter["id"].as_str().unwrap()));
        }
    }
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(members) => members.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Sends the examples of all functions to a world: each function's own, those of the same items once more
/// with other texts, those of a second set of items, and lists in pages. The change feed is delivered, and
/// the timers run.
///
/// A story looks then at what the app has sent to the store, or at what has become of the items:
/// [`indexes::every_query_has_an_index`](super::indexes::every_query_has_an_index).
pub async fn send_examples<A: AppUnderTest>(world: &World<A>) {
    let send = async |examples: &Examples, example: &Example| {
        example.send(&world.as_caller(examples.user::<A>().as_deref()), &[]).await
    };
    let mut others = Examples::of::<A>("-2");
    let functions = others.pending.clone();
    others.create(world, send).await;
    let mut examples = Examples::of::<A>("");
    examples.create(world, send).await;
    world.settle().await;
    for listed in functions.iter().filter(|listed| listed.is_of(&["PUT", "POST"])) {
        examples.send_again(world, &others, listed).await;
    }
    world.settle().await;
    examples
        .read(async |examples, one| {
            let answer = one.send(world, &[]).await;
            if answer.status.is_success() {
                examples.read_pages(world, one).await;
            }
            answer
        })
        .await;
    let app = A::program().describe().unwrap();
    for declaration in app.declarations() {
        if matches!(declaration.trigger, Trigger::Timer { .. }) {
            world.tick(declaration.name).await.unwrap();
        }
    }
    for listed in functions.iter().filter(|listed| listed.is_of(&["DELETE"])) {
        examples.send_again(world, &others, listed).await;
    }
    others.delete(send).await;
    examples.delete(send).await;
    world.settle().await;
    examples.all_have_succeeded();
}

impl Examples {
    /// Sends a request with other texts, and to the items of the other set below those of this one. Some
    /// are refused: a name is taken, an item belongs to another.
    async fn send_again<A: AppUnderTest>(&self, world: &World<A>, others: &Self, listed: &Listed) {
        let own = self.path(listed);
        let mut segments = listed.function.route.split('/').collect::<Vec<_>>().into_iter();
        let last = segments.rposition(|segment| segment.starts_with('{'));
        let mixed = last.map(|last| {
            let other = others.path(listed);
            let mut segments: Vec<&str> = own.split('/').collect();
            segments[last] = other.split('/').nth(last).unwrap_or_default();
            segments.join("/")
        });
        let own = Some(own).filter(|_| !listed.is_of(&["DELETE"]));
        for path in own.into_iter().chain(mixed) {
            let body = self.edit(listed);
            Example { of: listed.clone(), path, body }.send(world, &[]).await;
        }
    }

    /// Sends a request with each parameter of the query, and for its first two pages.
    async fn read_pages<A: AppUnderTest>(&self, world: &World<A>, example: &Example) {
        let parameters = self.parameters(&example.of);
        for parameter in [None].into_iter().chain(parameters.iter().map(Some)) {
            let sign = if example.path.contains('?') { '&' } else { '?' };
            let path = format!("{}{sign}{}", example.path, parameter.map_or("", String::as_str));
            world.get(&path).await;
            if !path.contains("limit=") {
                let page = world.get(&format!("{path}&limit=1")).await;
                let page: Value = serde_json::from_str(&page.text).unwrap_or_default();
                if let Some(cursor) = page["nextCursor"].as_str() {
                    world.get(&format!("{path}&limit=1&cursor={cursor}")).await.expect(200);
                }
            }
        }
    }
}
