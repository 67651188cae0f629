//! Commands whose budget is spent after any of their store requests.

use serde_json::Value;
use tributary_functions::cosmos::Limits;

use crate::{Answer, AppUnderTest, World, problems::refusal};

/// The most store requests that a command of an app may send without a competing one.
const MAX_REQUESTS: u64 = 30;

/// A command that the check sends, and repeats, under an `Idempotency-Key`.
#[derive(Debug, Clone)]
pub struct RepeatableCommand {
    /// The method.
    pub method: &'static str,
    /// The path.
    pub path: &'static str,
    /// The body.
    pub body: Option<Value>,
    /// The path of the item that shows the result; where it is empty, the answer's `Location`.
    pub result: &'static str,
}

/// Sends a command under a budget of 0, 1, 2, … store requests, each time in a world of its own, until it
/// succeeds. Before, it is a 503 with `Retry-After`, and the repeated command has the same result as an
/// undisturbed one. `times` names the members of the result that differ between two worlds, such as the
/// date of creation.
pub async fn budget_spent_anywhere<A: AppUnderTest>(
    begin: impl AsyncFn() -> World<A>,
    command: &RepeatableCommand,
    times: &[&str],
) {
    let undisturbed = begin().await;
    let answer = carry_out(&undisturbed, command).await;
    assert!(answer.status.is_success(), "{command:?}: {}", answer.text);
    let path = if command.result.is_empty() { answer.header("location") } else { command.result };
    let expected = result(&undisturbed, path, times).await;
    for store_requests in 0..=MAX_REQUESTS {
        let world = begin().await;
        let limited = world.with_limits(Limits { store_requests, ..Limits::REQUEST }).await;
        let answer = carry_out(&limited, command).await;
        if answer.status.is_success() {
            assert!(store_requests > 0, "{command:?} sends no store request");
            assert_eq!(result(&world, path, times).await, expected, "{command:?}");
            return;
        }
        refusal::<A>(command.path, &answer, (503, "budget-spent"));
        assert_eq!(answer.header("retry-after"), "1");
        let repeated = carry_out(&world, command).await;
        assert!(repeated.status.is_success(), "{command:?}: {}", repeated.text);
        let found = result(&world, path, times).await;
        assert_eq!(found, expected, "{command:?} after {store_requests}");
    }
    panic!("{command:?} needs more than {MAX_REQUESTS} store requests");
}

async fn carry_out<A: AppUnderTest>(world: &World<A>, command: &RepeatableCommand) -> Answer {
    let RepeatableCommand { method, path, body, .. } = command;
    world.call(method, path, &[("idempotency-key", "a-key")], body.clone()).await
}

async fn result<A: AppUnderTest>(world: &World<A>, path: &str, times: &[&str]) -> Value {
    let mut item = world.get(path).await.expect(200).json();
    item.as_object_mut().unwrap().retain(|name, _| !times.contains(&name.as_str()));
    item
}
