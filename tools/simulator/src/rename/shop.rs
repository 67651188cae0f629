//! A category and a tag with many products each, renamed at once while prices are edited.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::ensure;
use azure_data_cosmos::{DatabaseClient, Query};
use futures::{
    StreamExt as _, TryStreamExt as _,
    future::{try_join, try_join_all},
    stream,
};
use http::Method;
use serde_json::{Value, json};
use tokio::time::sleep;
use tributary_local::client::Call;
use tributary_local::{
    chaos::{Chaos, ChaosKind, ChaosSpec, Random},
    cosmos::RequestKind,
};
use tributary_simulator::items as find;

use super::{
    RenameCli,
    stage::{RunTarget, Stage, Worked},
};

/// The faults without `--chaos`. `--kill-every` kills the handlers.
const CHAOS: &str =
    "duplicates=0.2,reorder=0.2,overlap=0.1,throttle=0.05,lost-answer=0.02,stale=0.2,split=3";

const SUBJECT: RunTarget = RunTarget { container: "product", others: &["ProductsIntegrity"] };

/// The categories of the products with the tag. The first has as many products as have the tag.
const N_CATEGORIES: usize = 100;
const TAG: &str = "sale";
/// A tag of the same products, which is not renamed.
const OTHER_TAG: &str = "new";

const BEFORE: &str = "Before";
const AFTER: &str = "After";
const FIRST_PRICE: u64 = 0;

/// The number of callers that edit prices at the same time, and the pause of each between two edits.
const N_EDITORS: usize = 4;
const EDIT_PAUSE: Duration = Duration::from_millis(25);

/// The outcome of the renames.
pub(super) struct ShopOutcome {
    items: usize,
    edits: usize,
    worked: Worked,
    injected: Vec<(ChaosKind, u64)>,
    divergences: Vec<String>,
}

/// Renames a category and a tag while prices are edited.
pub(super) async fn run(cli: &RenameCli) -> anyhow::Result<ShopOutcome> {
    let items = cli.items.unwrap_or(5_000);
    ensure!(items >= N_CATEGORIES && !cli.alone, "--items must be at least 100, without --alone");
    let chaos: ChaosSpec = cli.chaos.as_deref().unwrap_or(CHAOS).parse()?;
    let chaos = Chaos::new(chaos, cli.seed);
    let shop = Shop::new(items);
    let write = async |database: &DatabaseClient| shop.write(database).await;
    let stage = Stage::start(cli, SUBJECT, Some(chaos.clone()), write).await?;
    stage.quiet().await;

    let database = &stage.database;
    let rename = async || {
        for path in [category_path(0), format!("/api/tags/{TAG}")] {
            stage.accepted(&Call::new(Method::PUT, path).json(json!({ "name": AFTER }))).await?;
        }
        Ok(())
    };
    // The last edits end before the work does.
    let is_done = async |sent| {
        if sent >= 2 * items && is_renamed(database).await? {
            shop.is_closed.store(true, Ordering::Relaxed);
        }
        Ok(shop.editors.load(Ordering::Relaxed) == 0)
    };
    let work = stage.work(RequestKind::Replace, rename, is_done);
    let (worked, ()) = try_join(work, shop.edit(&stage, cli.seed)).await?;
    let divergences = shop.check(database).await?;
    let edits = shop.edits.load(Ordering::Relaxed);
    stage.host.stop().await;
    Ok(ShopOutcome { items, edits, worked, injected: chaos.injected(), divergences })
}

/// The products and their right prices.
struct Shop {
    products: Vec<ShopProduct>,
    /// The prices that were acknowledged, by product.
    prices: Mutex<Vec<u64>>,
    edits: AtomicUsize,
    /// Editors at work.
    editors: AtomicUsize,
    /// True if no more edits begin.
    is_closed: AtomicBool,
}

struct ShopProduct {
    category: usize,
    id: String,
    is_tagged: bool,
}

impl Shop {
    /// Creates a shop in which one in a hundred products of the first category has the tag, and all
    /// those of the others.
    fn new(items: usize) -> Self {
        let tagged = items / N_CATEGORIES;
        let of_category = |category: usize| {
            let count = if category == 0 { items } else { tagged };
            (0..count).map(move |number| ShopProduct {
                category,
                id: format!("p{number:05}"),
                is_tagged: category > 0 || number < tagged,
            })
        };
        let products: Vec<_> = (0..N_CATEGORIES).flat_map(of_category).collect();
        Self {
            prices: Mutex::new(vec![FIRST_PRICE; products.len()]),
            products,
            edits: AtomicUsize::new(0),
            editors: AtomicUsize::new(N_EDITORS),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Writes all items in the form of the commands, past the app.
    async fn write(&self, database: &DatabaseClient) -> anyhow::Result<()> {
        let labels = database.container_client("productMeta", None).await?;
        let categories = (0..N_CATEGORIES).map(|number| ("category", category_id(number)));
        for (kind, id) in categories.chain([("tag", TAG.into()), ("tag", OTHER_TAG.into())]) {
            let label = json!({
                "state": "live", "type": kind, "id": id, "name": BEFORE, "sortName": BEFORE,
                "version": 1, "createdBy": "the-shop",
            });
            labels.create_item(kind, &id, &label, None).await?;
        }
        let products = database.container_client("product", None).await?;
        let writes = self.products.iter().map(async |product| {
            let item = product.item();
            products.create_item(category_id(product.category), &product.id, &item, None).await?;
            Ok(())
        });
        stream::iter(writes).buffer_unordered(8).try_collect().await
    }

    /// Edits prices until the shop is closed. Each product has one editor, which knows its price.
    async fn edit(&self, stage: &Stage, seed: u64) -> anyhow::Result<()> {
        let editors = (0..N_EDITORS).map(async |editor| {
            let mut random = Random::stream(seed, 2_000 + editor as u64);
            while !self.is_closed.load(Ordering::Relaxed) {
                let among = self.products.len() / N_EDITORS;
                let number = random.index(among) * N_EDITORS + editor;
                let product = &self.products[number];
                let price = 1 + random.below(10_000);
                let reply = stage.accepted(&product.put(price)).await?;
                ensure!(
                    reply.status == 200 && reply.body["price"] == price,
                    "a price of {price} was answered {} {}",
                    reply.status,
                    reply.body
                );
                self.prices.lock().unwrap_or_else(PoisonError::into_inner)[number] = price;
                self.edits.fetch_add(1, Ordering::Relaxed);
                sleep(EDIT_PAUSE).await;
            }
            self.editors.fetch_sub(1, Ordering::Relaxed);
            Ok(())
        });
        try_join_all(editors).await.map(drop)
    }

    /// Returns the faults in `product` and `dead-letters`.
    async fn check(&self, database: &DatabaseClient) -> anyhow::Result<Vec<String>> {
        let mut stored: HashMap<(String, String), Value> = HashMap::new();
        for item in find(database, "product", "SELECT * FROM c").await? {
            let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
            stored.insert((text("categoryId"), text("id")), item);
        }
        let mut wrong = Vec::new();
        let prices = self.prices.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (product, price) in self.products.iter().zip(prices) {
            let found = stored.remove(&(category_id(product.category), product.id.clone()));
            let found = found.unwrap_or_default();
            let category = if product.category == 0 { (AFTER, 2) } else { (BEFORE, 1) };
            let is_right = found["categoryName"] == category.0
                && found["categoryVersion"] == category.1
                && found["tags"] == product.tags((AFTER, 2))
                && found["price"] == price;
            if !is_right {
                wrong.push(format!("should cost {price} under new names: {found}"));
            }
        }
        wrong.extend(stored.values().map(|item| format!("no command has written this: {item}")));
        let letters = find(database, "dead-letters", "SELECT * FROM c").await?;
        wrong.extend(letters.iter().map(|letter| format!("dead letter: {}", letter["reason"])));
        Ok(wrong)
    }
}

impl ShopProduct {
    /// Returns the tags, with this name and version of the renamed one.
    fn tags(&self, (name, version): (&str, u64)) -> Value {
        let mut tags = vec![json!({ "id": OTHER_TAG, "name": BEFORE, "version": 1 })];
        if self.is_tagged {
            tags.push(json!({ "id": TAG, "name": name, "version": version }));
        }
        tags.into()
    }

    /// Returns the first state of the product.
    fn item(&self) -> Value {
        json!({
            "type": "product", "id": self.id, "categoryId": category_id(self.category),
            "categoryName": BEFORE, "categoryVersion": 1, "sku": "SKU-1", "name": self.id,
            "sortName": self.id, "description": "A text of some length. ".repeat(10),
            "price": FIRST_PRICE, "tags": self.tags((BEFORE, 1)), "version": 1,
            "createdBy": "the-shop",
        })
    }

    /// Returns the request that edits the price.
    fn put(&self, price: u64) -> Call {
        let path = format!("{}/products/{}", category_path(self.category), self.id);
        let tags: &[&str] = if self.is_tagged { &[OTHER_TAG, TAG] } else { &[OTHER_TAG] };
        Call::new(Method::PUT, path)
            .json(json!({ "sku": "SKU-1", "name": self.id, "price": price, "tagIds": tags }))
    }
}

fn category_id(category: usize) -> String {
    format!("category-{category}")
}

fn category_path(category: usize) -> String {
    format!("/api/categories/{}", category_id(category))
}

/// Returns true if no product has an old name.
async fn is_renamed(database: &DatabaseClient) -> anyhow::Result<bool> {
    let of_category =
        Query::from("SELECT TOP 1 c.id FROM c WHERE c.categoryId = @id AND c.categoryVersion < 2");
    let of_tag =
        Query::from("SELECT TOP 1 c.id FROM c JOIN t IN c.tags WHERE t.id = @id AND t.version < 2");
    for (query, id) in [(of_category, category_id(0)), (of_tag, TAG.to_owned())] {
        if !find(database, "product", query.with_parameter("@id", id)?).await?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

impl ShopOutcome {
    pub(super) fn is_right(&self) -> bool {
        self.divergences.is_empty() && self.edits > 0
    }
}

impl fmt::Display for ShopOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { items, edits, worked, injected, divergences } = self;
        let Worked { kills, sent, .. } = worked;
        let injected: Vec<_> =
            injected.iter().map(|(kind, times)| format!("{} {times}", kind.name())).collect();
        write!(
            f,
            "a category and a tag of {items} products each, {edits} prices edited, handlers killed \
             {kills} times, {}: {sent} replacements, {}",
            injected.join(", "),
            worked.in_words(divergences)
        )
    }
}
