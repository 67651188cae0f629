//! The figures of the seed article: [How to model and partition data on Azure Cosmos
//! DB](https://learn.microsoft.com/azure/cosmos-db/nosql/model-partition-example).

use serde::Serialize;

use crate::blog::request::BlogRequest;

/// The number of entries of the article's lists, by its own figures.
///
/// A list of comments loses exactly 20.00 request units as soon as it needs no usernames, and a list of
/// likes exactly 50.00, so they were 20 comments and 50 likes and a username was one point read. The
/// posts of a user lose 25 times two counts. The article gives the feed 100 posts.
pub(crate) struct PageSizes {
    pub(crate) posts_of_a_user: u32,
    pub(crate) comments: u32,
    pub(crate) likes: u32,
    pub(crate) feed: u32,
}

/// The sizes of the lists in the requests to all models.
pub(crate) const PAGES: PageSizes =
    PageSizes { posts_of_a_user: 25, comments: 20, likes: 50, feed: 100 };

/// Latency and charge of a request in one model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Published {
    pub(crate) latency_ms: f64,
    pub(crate) request_units: f64,
}

/// Returns the row of a request in the article's conclusion: V1, V2 and V3.
pub(crate) fn published(request: BlogRequest) -> [Published; 3] {
    let row = match request {
        BlogRequest::C1 => [(7.0, 5.71), (7.0, 5.71), (7.0, 5.71)],
        BlogRequest::Q1 => [(2.0, 1.0), (2.0, 1.0), (2.0, 1.0)],
        BlogRequest::C2 => [(9.0, 8.76), (9.0, 8.76), (9.0, 8.76)],
        BlogRequest::Q2 => [(9.0, 19.54), (2.0, 1.0), (2.0, 1.0)],
        BlogRequest::Q3 => [(130.0, 619.41), (28.0, 201.54), (4.0, 6.46)],
        BlogRequest::C3 => [(7.0, 8.57), (7.0, 15.27), (7.0, 15.27)],
        BlogRequest::Q4 => [(23.0, 27.72), (4.0, 7.72), (4.0, 7.72)],
        BlogRequest::C4 => [(6.0, 7.05), (7.0, 14.67), (7.0, 14.67)],
        BlogRequest::Q5 => [(59.0, 58.92), (4.0, 8.92), (4.0, 8.92)],
        BlogRequest::Q6 => [(306.0, 2063.54), (83.0, 532.33), (9.0, 16.97)],
    };
    row.map(|(latency_ms, request_units)| Published { latency_ms, request_units })
}
