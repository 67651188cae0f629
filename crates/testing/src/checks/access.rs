//! Access: each function serves the callers that its line in the table names.
//!
//! | level of the line | without a user | another user | the owner |
//! | --- | --- | --- | --- |
//! | `Anonymous`, `Public`, `Function` | is answered | gets the same answer | gets the same answer |
//! | `User`, `KeylessUser` | 401 | is answered | is answered |
//! | `Owner`, `KeylessOwner` | 401 | 403 | is answered |
//!
//! A command has a level that says who may send it: any but `Anonymous`. Where the caller is optional, an answer may
//! differ by the caller.

use std::collections::BTreeSet;

use serde_json::Value;
use tributary_functions::http::AuthLevel;
use tributary_local::cosmos::RequestKind;

use super::examples::{Example, Examples, Listed, PROBE, texts};
use crate::{Answer, AppUnderTest, World, answers::free_of_charge, problems::refusal};

const STRANGER: &str = "a-stranger";

const UNAUTHORIZED: (u16, &str) = (401, "unauthorized");

const FORBIDDEN: (u16, &str) = (403, "forbidden");

/// Calls each function without a user, as other users and as the owner, by the [sign-in](AppUnderTest::sign_in) of
/// the app or behind App Service Authentication.
///
/// The requests are the examples of the OpenAPI document. The owner is the user in the path or in the body,
/// or the user whose commands have succeeded. The others are a stranger, and an owner of other items.
///
/// A refused caller learns nothing, costs nothing and changes nothing. An answer without a key has no text
/// that an owner has written and that a query shows to the owner alone.
///
/// # Panics
///
/// When a caller is refused or answered against the table; when a command or a handler with an
/// [`Actor`](tributary_functions::http::Actor) has a line for other callers; or when a function does not
/// take its example.
pub async fn access_by_caller<A: AppUnderTest>() {
    lines_fit_handlers::<A>();
    let world = World::<A>::new().await.with_easyauth().await.as_caller(None);
    unknown_callers_learn_nothing(&world).await;
    let mut callers = Callers::default();
    let mut others = Examples::of::<A>("-2");
    others.create(&world, async |examples, one| callers.call(&world, examples, one).await).await;
    callers.others = std::mem::take(&mut callers.owners);
    assert!(
        callers.others.len() <= 1,
        "the examples have several owners, {:?}: one user has to own them all",
        callers.others
    );

    let mut examples = Examples::of::<A>("");
    examples.create(&world, async |examples, one| callers.call(&world, examples, one).await).await;
    world.settle().await;
    examples.read(async |examples, one| callers.call(&world, examples, one).await).await;
    callers.private_texts_stay_private();
    examples.delete(async |examples, one| callers.call(&world, examples, one).await).await;
    examples.all_have_succeeded();
}

#[derive(Default)]
struct Callers {
    /// The users whose requests have succeeded.
    owners: BTreeSet<String>,
    /// The owners of other items.
    others: BTreeSet<String>,
    /// The probes of texts that a query has shown to their owner alone.
    private: BTreeSet<String>,
    /// The answers without a key.
    public: Vec<(Listed, String)>,
    /// The probes of texts that only owners write.
    of_owners: BTreeSet<String>,
}

impl Callers {
    /// Sends a request as each caller. Returns the answer for the right one.
    async fn call<A: AppUnderTest>(
        &mut self,
        world: &World<A>,
        examples: &Examples,
        example: &Example,
    ) -> Answer {
        let answer = match example.of.function.auth_level {
            AuthLevel::Anonymous | AuthLevel::Public | AuthLevel::Function => {
                without_user(world, example).await
            }
            AuthLevel::User | AuthLevel::KeylessUser => {
                refused(world, example, None).await;
                let user = examples.user::<A>();
                let any = user.clone().unwrap_or_else(|| examples.with_set(STRANGER));
                let answer = example.send(&world.as_caller(Some(&any)), &[]).await;
                self.owners.extend(user.filter(|_| answer.status.is_success()));
                answer
            }
            AuthLevel::Owner | AuthLevel::KeylessOwner => {
                refused(world, example, None).await;
                self.owner(world, examples, example).await
            }
        };
        if answer.status.is_success() {
            self.keep(example, &answer);
        }
        answer
    }

    /// Sends a request as the other users, and as each user that may be the owner.
    async fn owner<A: AppUnderTest>(
        &mut self,
        world: &World<A>,
        examples: &Examples,
        example: &Example,
    ) -> Answer {
        let mut refusals = Vec::new();
        for other in self.others.iter().map(String::as_str).chain([STRANGER]) {
            let answer = refused(world, example, Some(other)).await;
            // The item does not exist, or the request is bad: there is no owner.
            if answer.status != 403 {
                return answer;
            }
            refusals.push(answer);
        }
        let named = examples.ids_in(example);
        let candidates = named.iter().chain(&self.owners).cloned();
        let candidates: BTreeSet<String> = candidates.chain(examples.user::<A>()).collect();
        let mut last = None;
        for user in &candidates - &self.others {
            let answer = example.send(&world.as_caller(Some(&user)), &[]).await;
            if answer.status.is_success() {
                if named.contains(&user) {
                    refusals.iter().for_each(free_of_charge);
                    self.owner_acts_for_no_other(world, example, &user).await;
                }
                self.owners.insert(user);
                return answer;
            }
            if answer.status != 403 || last.is_none() {
                last = Some(answer);
            }
        }
        last.unwrap_or_else(|| panic!("{} names no user that may be the owner", example.path))
    }

    /// Sends the request of an owner with another user in its place: below an item of the owner, such as a
    /// comment on the owner's post, it is the other's still.
    async fn owner_acts_for_no_other<A: AppUnderTest>(
        &self,
        world: &World<A>,
        example: &Example,
        owner: &str,
    ) {
        for other in &self.others {
            let path = example.path.split('/');
            let path = path.map(|segment| if segment == owner { other } else { segment });
            let path = path.collect::<Vec<_>>().join("/");
            let mut body = example.body.clone();
            for (_, member) in body.iter_mut().filter_map(Value::as_object_mut).flatten() {
                if *member == owner {
                    *member = other.as_str().into();
                }
            }
            let for_other = Example { of: example.of.clone(), path, body };
            let answer = refused(world, &for_other, Some(owner)).await;
            refusal::<A>(example.of.function.name, &answer, FORBIDDEN);
        }
    }

    fn keep(&mut self, example: &Example, answer: &Answer) {
        let listed = &example.of;
        let level = listed.function.auth_level;
        let is_owners = matches!(level, AuthLevel::Owner | AuthLevel::KeylessOwner);
        if level.needs_user() {
            let written = example.body.iter().flat_map(texts).any(|text| text.contains(PROBE));
            self.of_owners.extend(written.then(|| listed.probe.clone()));
        }
        if listed.function.method == "GET" && is_owners {
            let shown = self.of_owners.iter().filter(|probe| answer.text.contains(*probe));
            self.private.extend(shown.cloned());
        }
        if !level.needs_key() && !level.needs_user() {
            self.public.push((listed.clone(), answer.text.clone()));
        }
    }

    fn private_texts_stay_private(&self) {
        for (listed, text) in &self.public {
            let told = self.private.iter().find(|probe| text.contains(*probe));
            assert!(
                told.is_none(),
                "{} tells every caller a text that another query shows to its owner alone: write another \
                 level than Anonymous in {}, or leave the text out: {text}",
                listed.function.name,
                listed.line()
            );
        }
    }
}

/// Sends a request that must be refused: with 401 without a user, and with 403 for another user. Another
/// user is told of a missing item, and of a bad request.
async fn refused<A: AppUnderTest>(
    world: &World<A>,
    example: &Example,
    other: Option<&str>,
) -> Answer {
    let name = example.of.function.name;
    let line = example.of.line();
    let n_before = world.endpoint.request_count();
    let answer = example.send(&world.as_caller(other), &[]).await;
    match other {
        None => {
            refusal::<A>(&format!("{name} without a user, {line}"), &answer, UNAUTHORIZED);
            assert_eq!(answer.header("www-authenticate"), "Bearer", "{name}");
            free_of_charge(&answer);
        }
        Some(user) => {
            assert!(
                !answer.status.is_success(),
                "{name} lets {user} act for another user. Call `actor.must_be(…)` in its handler; if any \
                 signed-in user may call it, write User in {line}"
            );
            if answer.status == 403 {
                refusal::<A>(name, &answer, FORBIDDEN);
            }
        }
    }
    for request in world.endpoint.requests_since(n_before) {
        let is_read = matches!(request.kind, RequestKind::Read | RequestKind::Query);
        assert!(is_read, "{name}: a refused command wrote: {request:?}");
    }
    answer
}

/// Sends a request to a function for all users, without a user. A query has the same answer for a user.
async fn without_user<A: AppUnderTest>(world: &World<A>, example: &Example) -> Answer {
    let answer = example.send(world, &[]).await;
    let again = example.send(&world.as_caller(Some(STRANGER)), &[]).await;
    for answer in [&answer, &again] {
        asks_for_no_user(&example.of, answer, &[401, 403]);
    }
    let function = &example.of.function;
    if function.method == "GET" && !function.signature.is_personal {
        assert_eq!((again.status, &again.text), (answer.status, &answer.text), "{}", function.name);
    }
    answer
}

fn asks_for_no_user(listed: &Listed, answer: &Answer, statuses: &[u16]) {
    assert!(
        !statuses.contains(&answer.status.as_u16()),
        "{} asks for a user. Take an `Actor` in its handler, and write Owner or User in {}: {}",
        listed.function.name,
        listed.line(),
        answer.text
    );
}

/// Checks that the level in a line asks for a user if and only if the handler does, and that the level of a
/// command says who may send it.
fn lines_fit_handlers<A: AppUnderTest>() {
    for listed in Listed::all::<A>() {
        let function = &listed.function;
        let level = function.auth_level;
        let is_public_command = function.method != "GET" && level == AuthLevel::Anonymous;
        let fault = match (function.signature.takes().has_actor, level.needs_user()) {
            _ if is_public_command => {
                "is a command for every caller. Write Owner, User or Function, or Public if it is meant so,"
            }
            (false, true) => {
                "never asks for its user. Take an `Actor` in its handler, or write Function"
            }
            (true, false) => "takes an `Actor`. Write Owner or User",
            _ => continue,
        };
        panic!("{} {fault} in {}", function.name, listed.line());
    }
}

async fn unknown_callers_learn_nothing<A: AppUnderTest>(world: &World<A>) {
    for listed in Listed::all::<A>() {
        let function = &listed.function;
        let path = function.route.replace(['{', '}'], "");
        for path in [path.clone(), path.replace("Id", "~")] {
            let answer = world.call(function.method.as_str(), &path, &[], None).await;
            if function.auth_level.needs_user() {
                refusal::<A>(function.name, &answer, UNAUTHORIZED);
            } else {
                asks_for_no_user(&listed, &answer, &[401]);
            }
        }
    }
}
