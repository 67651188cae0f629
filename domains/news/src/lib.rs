//! The news: items that crawlers take from the feeds of providers.
//!
//! | container | logical partition | items |
//! | --- | --- | --- |
//! | `feeds_current` | provider and month or quarter; or month | items of the last 30 days |
//! | `feeds_historical` | the same | older items |
//! | `feeds_archive` | the same | items of partitions that ended years ago |
//! | `feeds_locations` | an item | its location |
//!
//! `docs/news.md` has the life of an item.

#![allow(missing_docs, reason = "a domain is no library: a name may say it all")]

pub mod model;
pub mod moves;

pub mod commands;
pub mod queries;

pub mod audit;

pub mod timers;

mod progress;
mod settings;
mod state;

pub use state::News;

use std::time::Duration;

use tributary_functions::{
    cosmos::Limits,
    http::{Footprint, WorkQueue},
    prelude::*,
};

use self::{
    commands::{
        MAX_BATCH_ANSWER_BYTES, MAX_BATCH_BODY_BYTES, archive_items, migrate_items, post_item,
        post_items,
    },
    model::ITEM_BYTES,
    queries::{get_item, list_items, search_items},
};

pub fn domain(context: &Context<'_>) -> Result<Domain, ConfigError> {
    let news = News::new(context)?;
    Ok(Domain {
        http_functions: bind(http_functions(), &news),
        timers: timers::timers(&news),
        audit: Some(audit::audit(&news)),
        containers: vec![news.hot, news.warm, news.archive, news.locations],
        ..Domain::new("news")
    })
}

const ARCHIVE_QUERY: [QueryParameter; 1] =
    [QueryParameter::new("dryRun", "`true`: only counts the items that are due.").example("true")];

/// Returns the HTTP functions: crawlers and operators need a function key, readers none.
#[rustfmt::skip]
fn http_functions() -> Vec<HttpFunction<News>> {
    let item  = Footprint::Item(ITEM_BYTES);
    let items = Footprint::Page { item: ITEM_BYTES, limit: 20 };
    let batch = Footprint::Batch { body: MAX_BATCH_BODY_BYTES, answer: MAX_BATCH_ANSWER_BYTES };
    // 500 items, each with some ten store requests at worst, and 4 MiB of text, written once.
    let batch_limits =
        Limits { store_requests: 20_000, request_units: 100_000, time: Duration::from_secs(200) };
    // The pacer bounds the request units of a run, its slice the time.
    let run =
        Limits { store_requests: 100_000, request_units: 200_000, time: Duration::from_secs(200) };
    // A run waits for the background's budget, for up to a minute.
    let runs = WorkQueue::new(2, 8);
    vec![
        post("PostNewsItem",  "/api/news/items",                     Function,  post_item)
            .answers(item),
        post("PostNewsItems", "/api/news/items/batch",               Function,  post_items)
            .answers(batch).within(batch_limits),
        get("ListNewsItems",  "/api/news/items",                     Anonymous, list_items)
            .answers(items),
        get("SearchNews",     "/api/news/search",                    Anonymous, search_items)
            .answers(items),
        get("GetNewsItem",    "/api/news/items/{partitionKey}/{id}", Anonymous, get_item)
            .answers(item),
        post("MigrateNews",   "/api/news/migrate",                   Function,  migrate_items)
            .within(run).queued(&runs),
        post("ArchiveNews",   "/api/news/archive",                   Function,  archive_items)
            .reads(&ARCHIVE_QUERY).within(run).queued(&runs),
    ]
}
