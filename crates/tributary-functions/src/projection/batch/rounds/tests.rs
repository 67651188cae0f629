//! Rounds over changes that fail as often as they like.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The transient failures of a change before it is applied; `None` for a change that always fails.
type Failures = Option<u32>;

fn task(n: usize, is_readable: bool) -> Task {
    let document = Document::from_json(n.to_string()).unwrap();
    Task { document, change: if is_readable { Ok(n) } else { Err("unreadable".to_owned()) } }
}

fn number(task: &Task) -> usize {
    task.document.raw().parse().unwrap()
}

/// A store that fails a group transiently as long as one of its changes fails.
fn try_all(groups: Vec<Vec<Task>>, left: &mut BTreeMap<usize, Failures>) -> Vec<AttemptedTask> {
    let mut attempted = Vec::new();
    for group in groups {
        let fails = |task: &Task| left[&number(task)] != Some(0);
        let all_fail = group.iter().any(fails);
        for task in &group {
            if let Some(left) = left.get_mut(&number(task)).unwrap() {
                *left = left.saturating_sub(1);
            }
        }
        attempted.extend(group.into_iter().map(|task| {
            let again = FailedAttempt { reason: Reason::Throttled, is_retryable: true };
            let result =
                if all_fail { Err(again) } else { Ok(ChangeOutcome::Done(Effect::Applied)) };
            (task, result)
        }));
    }
    attempted
}

proptest! {
    /// A change that is stuck holds up no other: each of them is done when it has been alone, or with
    /// others that fail no more.
    #[test]
    fn all_changes_but_those_that_are_stuck_are_done_in_a_few_rounds(
        failures in prop::collection::vec(prop::option::weighted(0.8, 0..4_u32), 0..60),
        readable in prop::collection::vec(any::<bool>(), 60),
        group in 0..50_usize,
    ) {
        let mut left: BTreeMap<usize, Failures> = failures.iter().copied().enumerate().collect();
        let tasks = (0..failures.len()).map(|n| task(n, readable[n])).collect();
        let mut rounds = Rounds::new(tasks, group);
        // Until each is alone, and then as often as one fails.
        let enough = group.max(1).ilog2() + 1 + 4;
        let mut n = 0;
        while !rounds.is_over() && n < enough {
            let groups = rounds.begin_round();
            for tasks in &groups {
                prop_assert!(!tasks.is_empty() && tasks.len() <= (group >> n).max(1));
                prop_assert!(tasks.len() == 1 || tasks.iter().all(|task| task.change.is_ok()));
            }
            rounds.end_round(try_all(groups, &mut left));
            n += 1;
        }
        let stuck = failures.iter().filter(|failures| failures.is_none()).count();
        prop_assert!(rounds.failed().all(|(task, _)| failures[number(task)].is_none()));
        let BatchOutcomes { done, failures: failed } = rounds.end();
        prop_assert_eq!((done.len(), failed.len()), (failures.len() - stuck, stuck));
    }
}
