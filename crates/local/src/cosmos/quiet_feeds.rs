//! Pages of the change feed without changes, which need no look at the items.
//!
//! The emulator copies all items of a container for each page, and no write happens meanwhile. A trigger asks many
//! times a second, mostly in vain. An answer without changes stays right until the next write to the container, or
//! its next split. Until then the same request gets it again.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use azure_core::{
    Bytes,
    http::{Request, headers::Headers},
};
use azure_data_cosmos::CosmosError;

use super::{backend::Response, operation::ContainerPath};

/// Headers in which two requests for the same page differ.
const OF_ONE_REQUEST: [&str; 3] = ["authorization", "x-ms-activity-id", "x-ms-date"];

/// The number of answers that are kept for a container at most.
const MAX_ANSWERS: usize = 100;

/// What an answer without changes depends on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ContainerState {
    /// The number of writes that have begun.
    pub(super) writes: u64,
    /// The number of sweeps that deleted items: a deletion is no change, but has a log sequence number.
    pub(super) expiries: u64,
    pub(super) partitions: Vec<u32>,
}

/// The answers without changes.
#[derive(Debug, Default)]
pub(super) struct QuietFeeds(Mutex<HashMap<ContainerPath, QuietContainer>>);

#[derive(Debug)]
struct QuietContainer {
    state: ContainerState,
    answers: HashMap<Vec<String>, Headers>,
}

impl QuietFeeds {
    /// Returns the known answer if the container is still in the `state` of it, and otherwise a new `page`. That must
    /// wait until all writes that have begun are done, and must keep out others.
    ///
    /// Why no change is missed: the page is made after all writes that `state` counts, so where it has no changes,
    /// those writes have none for this request. Each later write is counted before it is carried out, and then no
    /// request is in that state.
    pub(super) async fn page(
        &self,
        container: &ContainerPath,
        request: &Request,
        state: ContainerState,
        page: impl Future<Output = Result<Response, CosmosError>>,
    ) -> Result<Response, CosmosError> {
        let question = question(request);
        if let Some(headers) = self.known(container, &state, &question) {
            return Ok(Response { status: 304, headers, body: Bytes::new(), items_loaded: None });
        }
        let response = page.await?;
        if response.status == 304 {
            self.keep(container, state, question, response.headers.clone());
        }
        Ok(response)
    }

    /// Forgets the answers of the containers that are gone.
    pub(super) fn forget(&self, gone: impl Fn(&ContainerPath) -> bool) {
        self.containers().retain(|container, _| !gone(container));
    }

    fn known(
        &self,
        container: &ContainerPath,
        state: &ContainerState,
        question: &[String],
    ) -> Option<Headers> {
        let containers = self.containers();
        let known = containers.get(container).filter(|known| known.state == *state)?;
        known.answers.get(question).cloned()
    }

    fn keep(
        &self,
        container: &ContainerPath,
        state: ContainerState,
        question: Vec<String>,
        headers: Headers,
    ) {
        let mut containers = self.containers();
        match containers.get_mut(container) {
            Some(known) if known.state == state && known.answers.len() < MAX_ANSWERS => {
                known.answers.insert(question, headers);
            }
            _ => {
                let answers = HashMap::from([(question, headers)]);
                containers.insert(container.clone(), QuietContainer { state, answers });
            }
        }
    }

    fn containers(&self) -> MutexGuard<'_, HashMap<ContainerPath, QuietContainer>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the address and the headers of a request, without those of this one request.
fn question(request: &Request) -> Vec<String> {
    let headers =
        request.headers().iter().filter(|(name, _)| !OF_ONE_REQUEST.contains(&name.as_str()));
    let mut question: Vec<_> =
        headers.map(|(name, value)| format!("{}: {}", name.as_str(), value.as_str())).collect();
    question.sort_unstable();
    question.push(request.url().to_string());
    question
}

#[cfg(test)]
mod tests {
    use azure_core::http::Method;

    use super::*;

    #[tokio::test]
    async fn a_page_without_changes_is_made_once_for_each_state_of_its_container() {
        let feeds = QuietFeeds::default();
        let mut made = 0;
        let mut ask = async |container: &str, behind: &str, writes, partitions: &[u32], status| {
            let container = ContainerPath { database: "db".into(), container: container.into() };
            let mut request = Request::new("http://127.0.0.1/".parse().unwrap(), Method::Get);
            request.insert_header("if-none-match", behind.to_owned());
            request.insert_header("x-ms-date", made.to_string());
            let state = ContainerState { writes, expiries: 0, partitions: partitions.to_vec() };
            let (headers, body) = (Headers::new(), Bytes::new());
            let page = async {
                made += 1;
                Ok(Response { status, headers, body, items_loaded: None })
            };
            assert_eq!(feeds.page(&container, &request, state, page).await.unwrap().status, status);
            made
        };

        assert_eq!(ask("posts", "1", 1, &[0], 200).await, 1);
        assert_eq!(ask("posts", "1", 1, &[0], 304).await, 2, "an answer with changes is not kept");
        assert_eq!(ask("posts", "1", 1, &[0], 304).await, 2, "known");
        assert_eq!(ask("posts", "2", 1, &[0], 304).await, 3, "another position");
        assert_eq!(ask("users", "1", 1, &[0], 304).await, 4, "another container");
        assert_eq!(ask("posts", "1", 1, &[0], 304).await, 4, "known beside them");
        assert_eq!(ask("posts", "1", 2, &[0], 304).await, 5, "after a write");
        assert_eq!(ask("posts", "1", 2, &[1, 2], 304).await, 6, "after a split");
        assert_eq!(ask("users", "1", 1, &[0], 304).await, 6, "still known");
        feeds.forget(|container| container.container == "users");
        assert_eq!(ask("users", "1", 1, &[0], 304).await, 7, "forgotten");
        for n in 0..2 * MAX_ANSWERS {
            ask("posts", &n.to_string(), 2, &[1, 2], 304).await;
        }
        let kept: usize = feeds.containers().values().map(|known| known.answers.len()).sum();
        assert!(kept <= 2 * MAX_ANSWERS, "{kept}");
    }
}
