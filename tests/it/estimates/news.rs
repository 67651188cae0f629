//! The news: `feeds_current`, by provider and month.

use serde_json::{Value, json};

use super::{CREATE, Example, PARTITIONS, QUERY, READ, REPLACE, Way, popular, text, way};
use crate::{news::Newsroom, world::World};

const PROVIDERS: usize = 60;
const ITEMS: usize = 600;

#[tokio::test]
async fn the_requests_of_the_news_cost_what_the_validator_says() {
    let newsroom = newsroom().await;
    let feeds = Example {
        container: "feeds_current",
        key: "/feedProviderId+/publishedDate by month",
        requests: "feeds.requests.jsonl",
    };
    feeds.compare(&newsroom.world, &OF_FEEDS).await;
}

const OF_FEEDS: [Way; 5] = [
    way("an item", READ, |item, _| {
        let path = format!("{}/{}", text(item, "partitionKey"), text(item, "id"));
        ("GET", format!("/api/news/items/{path}"), None)
    }),
    way("items of a provider, 7 days", QUERY, |item, _| {
        let provider = text(item, "feedProviderId");
        ("GET", format!("/api/news/items?provider={provider}"), None)
    }),
    way("items of all providers, 7 days", QUERY, |_, _| ("GET", "/api/news/items".into(), None)),
    way("store a new item", CREATE, |item, n| {
        let url = format!("https://example.com/new/{n}");
        ("POST", "/api/news/items".into(), Some(body(item, &url)))
    }),
    way("store an item again", REPLACE, |item, _| {
        ("POST", "/api/news/items".into(), Some(body(item, text(item, "sourceUrl"))))
    }),
];

/// Items of 30 days; few providers have most of them. It is the 20th of a month.
async fn newsroom() -> Newsroom {
    let names: Vec<String> = (0..PROVIDERS).map(provider).collect();
    let settings = [("News__HighVolumeProviders", names.join(","))];
    let settings = settings.each_ref().map(|(name, value)| (*name, value.as_str()));
    let newsroom = Newsroom::with(World::with_partitions(PARTITIONS).await, &settings).await;
    newsroom.at_one_time();
    for first in (0..ITEMS).step_by(200) {
        let items: Vec<Value> = (first..first + 200)
            .map(|n| {
                let days_ago = f64::from(u32::try_from(n % 300).unwrap()) / 10.0;
                let mut item =
                    newsroom.item(&provider(popular(n, PROVIDERS)), &n.to_string(), days_ago);
                item["content"] = json!("c".repeat(300 + 7 * (n % 200)));
                item
            })
            .collect();
        newsroom.batch(&items).await;
    }
    newsroom
}

fn body(item: &Value, url: &str) -> Value {
    let mut body = json!({"sourceUrl": url, "title": "Another title of it"});
    for name in ["feedProviderId", "content", "publishedDate", "tags"] {
        body[name] = item[name].clone();
    }
    body
}

fn provider(n: usize) -> String {
    format!("provider-{n:02}")
}
