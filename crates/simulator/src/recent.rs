//! What a read may see that is behind: another instance's writes reach it a moment later.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// More versions than any thing has in the time that a read may be behind.
const MOST_VERSIONS: usize = 50;

/// Versions of one thing that were the newest one until not long ago.
#[derive(Debug, Clone)]
pub(crate) struct Recent<T>(VecDeque<(Instant, T)>);

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Recent<T> {
    /// Notes a version that a newer one has just replaced.
    pub(crate) fn push(&mut self, version: T) {
        if self.0.len() == MOST_VERSIONS {
            self.0.pop_front();
        }
        self.0.push_back((Instant::now(), version));
    }

    /// The versions that were still the newest one after this moment.
    pub(crate) fn since(&self, moment: Instant) -> impl Iterator<Item = &T> {
        self.0.iter().filter(move |(until, _)| *until > moment).map(|(_, version)| version)
    }
}

/// The moment whose state a read may still see that began at `began`.
pub(crate) fn oldest(began: Instant, behind: Duration) -> Instant {
    began.checked_sub(behind).unwrap_or(began)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};
    use serde_json::{Value, json};

    use super::*;
    use crate::{Model, Operation, Reply, World};

    fn reply(status: u16, body: &Value) -> Reply {
        let status = StatusCode::from_u16(status).unwrap();
        Reply::new(status, &HeaderMap::new(), body.to_string().as_bytes())
    }

    /// Whether each answer to the operation is right for a model whose one user was created, and
    /// then renamed a moment ago, and whose one post was liked by it and then deleted.
    fn judged(behind: Duration, operation: &Operation, answers: &[(u16, Value)]) -> Vec<bool> {
        let world = World { clients: 1, users: 1, posts: 1, reuse_ids: true };
        let mut model = Model::new(world, behind);
        let mut done = |operation: &Operation, status: u16, body: &Value| {
            let begun = model.begin(operation);
            model.finish(0, operation, &begun, &reply(status, body), false).is_ok()
        };
        for (name, status) in [("One", 201), ("Two", 200)] {
            let named = Operation::PutUser { user: 0, name: name.to_owned() };
            assert!(done(&named, status, &json!({ "username": name })));
        }
        let (title, content) = ("T".to_owned(), "C".to_owned());
        let post = Operation::PutPost { post: 0, author: 0, title, content };
        assert!(done(&post, 201, &json!({ "title": "T", "content": "C" })));
        assert!(done(&Operation::Like { post: 0, user: 0 }, 201, &Value::Null));
        assert!(done(&Operation::DeletePost { post: 0 }, 204, &Value::Null));
        answers.iter().map(|(status, body)| done(operation, *status, body)).collect()
    }

    #[test]
    fn a_query_may_be_as_far_behind_as_its_replica_and_no_further() {
        let of_user = [
            (200, json!({ "username": "Two" })),
            (200, json!({ "username": "One" })),
            (404, Value::Null),
            (200, json!({ "username": "Three" })),
        ];
        let of_post = [
            (404, Value::Null),
            (200, json!({ "title": "T", "content": "C" })),
            (200, json!({ "title": "T", "content": "D" })),
        ];
        let of_like = [(404, Value::Null), (200, Value::Null), (204, Value::Null)];
        let user = Operation::GetUser { user: 0 };
        let post = Operation::GetPost { post: 0 };
        let like = Operation::GetLike { post: 0, user: 0 };

        let far = Duration::from_mins(1);
        assert_eq!(judged(far, &user, &of_user), [true, true, false, false]);
        assert_eq!(judged(far, &post, &of_post), [true, true, false]);
        assert_eq!(judged(far, &like, &of_like), [true, true, false]);
        let not = Duration::ZERO;
        assert_eq!(judged(not, &user, &of_user), [true, false, false, false]);
        assert_eq!(judged(not, &post, &of_post), [true, false, false]);
        assert_eq!(judged(not, &like, &of_like), [true, false, false]);
    }

    #[test]
    fn a_command_may_not_be_behind() {
        let far = Duration::from_mins(1);
        let (title, content) = ("T".to_owned(), "D".to_owned());
        let created = Operation::PutPost { post: 0, author: 0, title, content };
        assert_eq!(judged(far, &created, &[(200, json!({"title": "T", "content": "D"}))]), [false]);
        let unliked = Operation::Unlike { post: 0, user: 0 };
        assert_eq!(judged(far, &unliked, &[(200, Value::Null)]), [false]);
        assert_eq!(judged(far, &Operation::DeletePost { post: 0 }, &[(204, Value::Null)]), [false]);
    }
}
