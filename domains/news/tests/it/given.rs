//! Worlds with a clock of their own, and short functions for their requests.

use std::{
    sync::atomic::{AtomicI64, Ordering::Relaxed},
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};
use tributary_functions::{
    app::{App, AppOptions},
    config::Settings,
    projection::BackgroundOptions,
    values::{Clock, Timestamp},
};
use tributary_testing::AppUnderTest;

use crate::world::{Answer, TestApp, World};

/// The default strategy: `reuters` is of high volume.
pub(crate) const HYBRID: &[(&str, &str)] = &[("News__HighVolumeProviders", "reuters")];
pub(crate) const MONTHLY: &[(&str, &str)] = &[("News__PartitionStrategy", "monthly")];

const DAY: i64 = 24 * 60 * 60;

/// A world with a clock that a test puts forward.
#[derive(Clone)]
pub(crate) struct Newsroom {
    pub(crate) world: World,
    ahead: &'static AtomicI64,
}

impl Newsroom {
    pub(crate) async fn new() -> Self {
        Self::with(World::new().await, HYBRID).await
    }

    pub(crate) async fn with(world: World, settings: &[(&str, &str)]) -> Self {
        let ahead: &'static AtomicI64 = Box::leak(Box::default());
        let options = AppOptions { clock: Clock::ahead_by(ahead), ..World::options() };
        Self { world: world.with_settings(options, settings).await, ahead }
    }

    /// The same newsroom, seen through an instance with other settings.
    pub(crate) async fn with_settings(&self, settings: &[(&str, &str)]) -> Self {
        let options = AppOptions { clock: Clock::ahead_by(self.ahead), ..World::options() };
        Self { world: self.world.with_settings(options, settings).await, ..self.clone() }
    }

    /// The same newsroom, seen through an instance with another budget of the background.
    pub(crate) async fn with_background(&self, background: BackgroundOptions) -> Self {
        let clock = Clock::ahead_by(self.ahead);
        let options = AppOptions { clock, background, ..World::options() };
        Self { world: self.world.with_settings(options, HYBRID).await, ..self.clone() }
    }

    pub(crate) async fn app(&self, settings: &[(&str, &str)]) -> App {
        let options = AppOptions { clock: Clock::ahead_by(self.ahead), ..World::options() };
        let setting = |name: &str| {
            let found = settings.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let cosmos = World::cosmos(&self.world.endpoint).await;
        TestApp::program().build(&cosmos, options, Settings::new(&setting)).unwrap()
    }

    /// Lets time pass, and deletes the expired items.
    pub(crate) async fn days_pass(&self, days: i64) {
        self.hours_pass(24 * days).await;
    }

    pub(crate) async fn hours_pass(&self, hours: i64) {
        let ahead = self.ahead.fetch_add(hours * 60 * 60, Relaxed) + hours * 60 * 60;
        let ahead = Duration::from_secs(u64::try_from(ahead).unwrap());
        self.world.endpoint.expire_items(SystemTime::now() + ahead).await;
    }

    /// Lets days pass; the store deletes nothing.
    pub(crate) fn days_pass_without_expiry(&self, days: i64) {
        self.ahead.fetch_add(days * DAY, Relaxed);
    }

    /// Time passes until the same moment in every run: costs depend on the names of partitions, and on
    /// how many of them a window has.
    pub(crate) fn at_one_time(&self) {
        let then = Timestamp::parse("2040-02-20T12:00:00.000Z").unwrap();
        let seconds = then.millis_since(Timestamp::now()) / 1_000;
        self.ahead.store(i64::try_from(seconds).unwrap(), Relaxed);
    }

    pub(crate) fn days_ago(&self, days: f64) -> String {
        let now = Clock::ahead_by(self.ahead).now();
        let by = Duration::from_secs_f64(days.abs() * 86_400.0);
        let by = Duration::from_secs(by.as_secs());
        let moment: Timestamp = if days < 0.0 { now.after(by) } else { now.before(by) };
        moment.to_string()
    }

    pub(crate) async fn post(&self, provider: &str, url: &str, days_ago: f64) -> Answer {
        self.world.post("/api/news/items", self.item(provider, url, days_ago)).await
    }

    /// Returns the body of a post.
    pub(crate) fn item(&self, provider: &str, url: &str, days_ago: f64) -> Value {
        json!({"feedProviderId": provider, "title": format!("Title of {url}"),
            "content": format!("Content of {url}"), "publishedDate": self.days_ago(days_ago),
            "sourceUrl": format!("https://{provider}.example.com/{url}"), "tags": ["world"]})
    }

    /// The item as it is read by the id that an answer names.
    pub(crate) async fn read(&self, item: &Value) -> Answer {
        let key = item["partitionKey"].as_str().unwrap();
        let id = item["id"].as_str().unwrap();
        self.world.get(&format!("/api/news/items/{key}/{id}")).await
    }

    /// The last parts of the addresses of all items of a list, page by page.
    pub(crate) async fn urls(&self, query: &str) -> Vec<String> {
        self.urls_by(query, 3).await
    }

    /// Returns the same, read in pages of another size.
    pub(crate) async fn urls_by(&self, query: &str, limit: u32) -> Vec<String> {
        let url = |item: &Value| {
            item["sourceUrl"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
        };
        self.items(query, limit).await.iter().map(url).collect()
    }

    /// All items of a list, page by page.
    pub(crate) async fn items(&self, query: &str, limit: u32) -> Vec<Value> {
        self.all("items", query, limit).await
    }

    /// All items of a search, page by page.
    pub(crate) async fn found(&self, query: &str, limit: u32) -> Vec<Value> {
        self.all("search", query, limit).await
    }

    async fn all(&self, list: &str, query: &str, limit: u32) -> Vec<Value> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/api/news/{list}?{query}&limit={limit}{cursor}");
            let page = self.world.get(&path).await.expect(200).json();
            let found = page["items"].as_array().unwrap();
            items.extend_from_slice(found);
            match page["nextCursor"].as_str() {
                Some(next) => {
                    assert_eq!(found.len(), limit as usize, "a page that is not the last is full");
                    cursor = format!("&cursor={next}");
                }
                None => return items,
            }
        }
    }

    /// Posts these items, and returns the outcomes.
    pub(crate) async fn batch(&self, items: &[Value]) -> Value {
        let body = json!({"items": items});
        self.world.post("/api/news/items/batch", body).await.expect(200).json()
    }

    /// Items that are live in the hot container, and in the warm one.
    pub(crate) async fn hot_and_warm(&self) -> (usize, usize) {
        (self.live_in("feeds_current").await, self.live_in("feeds_historical").await)
    }

    /// Runs the migration as its timer does.
    pub(crate) async fn migrate(&self) -> Value {
        self.world.post("/api/news/migrate", json!({})).await.expect(200).json()
    }

    pub(crate) async fn archive(&self) -> Value {
        self.world.post("/api/news/archive", json!({})).await.expect(200).json()
    }

    pub(crate) async fn stored(&self, container: &str, id: &Value) -> Value {
        self.world.item(container, id.as_str().unwrap()).await
    }

    pub(crate) async fn put(&self, container: &str, item: &Value) {
        self.world.write_item(container, item).await;
    }

    pub(crate) async fn live(&self) -> usize {
        let mut live = 0;
        for container in ["feeds_current", "feeds_historical", "feeds_archive"] {
            live += self.live_in(container).await;
        }
        live
    }

    /// Makes an item of the hot container one that was leaving for the warm one, by a post with another
    /// date. Returns the item that would arrive.
    pub(crate) async fn leave_departure(&self, item: &Value) -> Value {
        let mut departing = self.stored("feeds_current", &item["id"]).await;
        let mut to = item.clone();
        to["publishedDate"] = json!(self.days_ago(200.0));
        to["partitionKey"] = json!(format!("reuters_{}", &self.days_ago(200.0)[..7]));
        departing["state"] = json!("departing");
        departing["departure"] = json!({
            "to": {"store": "warm", "partitionKey": to["partitionKey"]}, "item": to, "command": "move",
        });
        self.put("feeds_current", &departing).await;
        to
    }

    /// The ids in a container: items that are the item, not copies that go away.
    pub(crate) async fn live_in(&self, container: &str) -> usize {
        let items = self.world.items(container).await;
        items.iter().filter(|item| item["state"] == "live").count()
    }
}

pub(crate) fn path(item: &Value) -> String {
    let [key, id] = ["partitionKey", "id"].map(|name| item[name].as_str().unwrap());
    format!("/api/news/items/{key}/{id}")
}
