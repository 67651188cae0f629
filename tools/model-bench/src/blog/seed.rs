//! What the seed article publishes: [How to model and partition data on Azure Cosmos
//! DB](https://learn.microsoft.com/azure/cosmos-db/nosql/model-partition-example).

use serde::Serialize;

use crate::blog::request::Request;

/// How many entries the article's lists had, by its own figures.
///
/// A list of comments loses exactly 20.00 request units when it needs no usernames any more, and a
/// list of likes exactly 50.00, so they were 20 comments and 50 likes and a username was one point
/// read. The posts of a user lose 25 times two counts. The feed is said to be 100 posts.
pub(crate) struct PageSizes {
    pub(crate) posts_of_a_user: u32,
    pub(crate) comments: u32,
    pub(crate) likes: u32,
    pub(crate) feed: u32,
}

/// The lists that all models are asked for.
pub(crate) const PAGES: PageSizes =
    PageSizes { posts_of_a_user: 25, comments: 20, likes: 50, feed: 100 };

/// Latency and charge of a request in one model.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Published {
    pub(crate) latency_ms: f64,
    pub(crate) request_units: f64,
}

/// The table of the article's conclusion: V1, V2 and V3 of a request.
pub(crate) fn published(request: Request) -> [Published; 3] {
    let row = match request {
        Request::C1 => [(7.0, 5.71), (7.0, 5.71), (7.0, 5.71)],
        Request::Q1 => [(2.0, 1.0), (2.0, 1.0), (2.0, 1.0)],
        Request::C2 => [(9.0, 8.76), (9.0, 8.76), (9.0, 8.76)],
        Request::Q2 => [(9.0, 19.54), (2.0, 1.0), (2.0, 1.0)],
        Request::Q3 => [(130.0, 619.41), (28.0, 201.54), (4.0, 6.46)],
        Request::C3 => [(7.0, 8.57), (7.0, 15.27), (7.0, 15.27)],
        Request::Q4 => [(23.0, 27.72), (4.0, 7.72), (4.0, 7.72)],
        Request::C4 => [(6.0, 7.05), (7.0, 14.67), (7.0, 14.67)],
        Request::Q5 => [(59.0, 58.92), (4.0, 8.92), (4.0, 8.92)],
        Request::Q6 => [(306.0, 2063.54), (83.0, 532.33), (9.0, 16.97)],
    };
    row.map(|(latency_ms, request_units)| Published { latency_ms, request_units })
}
