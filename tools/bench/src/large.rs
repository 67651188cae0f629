//! The work that touches very many items. One item of each kind is made through the app. Its clones are written into
//! the store as it is stored, each with an id of its own.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::ValueEnum;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use tributary_functions::values::Timestamp;
use tributary_local::{
    client::Call,
    host::{HttpInvoker, Invoker as _},
};
use uuid::Uuid;

use crate::{
    handler::{LOG_DELAY, MeasuredHandler},
    machine,
    report::{Table, each, rate},
    world::{BenchWorld, OF_POSTS, USERS, WRITERS, author, comment, like, post, send_all, user},
};

const HEADS: &str = "work | items | seconds | items/s | requests an item | RU an item";

/// The size of the measurement.
#[derive(Debug, clap::Args)]
pub(crate) struct LargeOptions {
    /// The parts to measure; all without one.
    parts: Vec<Part>,

    /// The number of items that a rename or a migration touches; at least 2.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    items: usize,

    /// The number of posts that are created, or that each projection reads; at least 200.
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    posts: usize,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Part {
    /// Posts created through the API by 16 clients.
    Posts,
    /// The changes of posts, through each projection by itself.
    Projections,
    /// A renamed user, whose name is on posts and comments.
    Rename,
    /// The items that `NewsMigration` moves to `feeds_historical`.
    News,
    /// A renamed category, and a renamed tag, of products.
    Products,
}

struct LargeApp<'a> {
    world: BenchWorld,
    handler: MeasuredHandler,
    table: &'a mut Table,
}

pub(crate) async fn run(options: &LargeOptions) -> anyhow::Result<()> {
    ensure!(options.items >= 2 && options.posts >= 200, "--items or --posts is too small");
    let mut table = Table::new(HEADS);
    let parts = if options.parts.is_empty() { Part::value_variants() } else { &options.parts };
    for part in parts {
        let mut app = LargeApp::start(&mut table).await?;
        match part {
            Part::Posts => app.posts(options.posts).await?,
            Part::Projections => app.projections(options.posts).await?,
            Part::Rename => app.rename(options.items).await?,
            Part::News => app.news(options.items).await?,
            Part::Products => app.products(options.items).await?,
        }
        eprintln!("Auditing");
        app.world.check(&app.handler).await?;
    }
    println!("{}\n\n{table}", machine::line());
    Ok(())
}

impl<'a> LargeApp<'a> {
    /// Starts a handler on an empty account, without a limit of the background's request units.
    async fn start(table: &'a mut Table) -> anyhow::Result<Self> {
        let mut world = BenchWorld::with_partitions(1).await?;
        world.app.settings.set("Background__RequestUnitsPerSecond", "0");
        let handler = MeasuredHandler::ready_on(&world.app).await?;
        Ok(Self { world, handler, table })
    }

    async fn users(&self) -> anyhow::Result<()> {
        let users = (0..USERS).map(|n| user(&author(n), &format!("Author{n}")));
        send_all(&self.handler, users.collect()).await
    }

    async fn posts(&mut self, n: usize) -> anyhow::Result<()> {
        self.users().await?;
        let posts = (0..n).map(|number| post(number, "A title of a usual length")).collect();
        let began = self.begin("posts created by 16 clients");
        send_all(&self.handler, posts).await?;
        self.end(began, n).await;
        self.delivered("their changes in all projections", n).await
    }

    async fn projections(&mut self, n: usize) -> anyhow::Result<()> {
        self.users().await?;
        self.answer(&post(0, "A title")).await?;
        let now = Timestamp::now();
        let first = json!({"id": "p0", "postId": "p0"});
        self.clone("posts", "postId", &first, n, |item, number| {
            item["id"] = json!(format!("p{number}"));
            item["postId"] = item["id"].clone();
            item["userId"] = json!(author(number));
            item["userUsername"] = json!(format!("Author{}", number % USERS));
            item["content"] = json!("A text of some length. ".repeat(40));
            item["creationDate"] = json!(now.before(Duration::from_secs((n - number) as u64)));
        })
        .await?;
        // The author of the next post likes each.
        let likes = (0..n).map(|n| like(n, &author(n + 1))).collect();
        let deletes = (n - 100..n).map(|n| Call::delete(format!("/api/posts/p{n}"))).collect();
        for (what, calls) in [
            ("new posts", Vec::new()),
            ("posts that were liked, and the likes", likes),
            ("the newest posts deleted", deletes),
        ] {
            send_all(&self.handler, calls).await?;
            for function in OF_POSTS {
                let what = format!("{what}: {function}");
                let began = self.begin(&what);
                let changes = self.world.drain(&self.handler, &[function]).await?;
                self.end(began, changes).await;
            }
        }
        Ok(())
    }

    /// Half are posts, the others comments. The projections write the copies before the rename.
    async fn rename(&mut self, n: usize) -> anyhow::Result<()> {
        let pairs = n / 2;
        let user_id = author(0);
        self.answer(&user(&user_id, "Author")).await?;
        self.answer(&post(0, "A title of a usual length")).await?;
        let comment = self.answer(&comment(0, &user_id)).await?;
        let now = Timestamp::now();
        let of_post = |item: &mut Value, number: usize| {
            item["postId"] = json!(format!("p{number}"));
            // Older than the first one, so that few posts enter the feed.
            item["creationDate"] = json!(now.before(Duration::from_secs(number as u64)));
        };
        let to_post = |item: &mut Value, number: usize| {
            of_post(item, number);
            item["id"] = item["postId"].clone();
        };
        self.clone("posts", "postId", &json!({"id": "p0", "postId": "p0"}), pairs, to_post).await?;
        self.clone("posts", "postId", &comment, pairs, of_post).await?;
        self.delivered("posts and comments, in all projections", 2 * pairs).await?;
        let rename = user(&user_id, "Writer");
        self.renamed("a renamed user: the names", &rename, "UsernamesInPosts", 2 * pairs).await
    }

    async fn news(&mut self, n: usize) -> anyhow::Result<()> {
        let published = Timestamp::now().before(Duration::from_hours(240));
        let body = json!({
            "feedProviderId": "gazette", "title": "A title of a usual length",
            "content": "Small streams feed the river that people read from. ".repeat(20),
            "publishedDate": published, "sourceUrl": "https://gazette.example.com/0", "tags": ["world"],
        });
        let item = self.answer(&Call::post("/api/news/items", body)).await?;
        let location = json!({"id": item["id"], "partitionKey": item["id"]});
        self.clone("feeds_locations", "partitionKey", &location, n, |location, number| {
            location["id"] = json!(format!("i{number}"));
            location["partitionKey"] = location["id"].clone();
        })
        .await?;
        self.clone("feeds_current", "partitionKey", &item, n, |item, number| {
            item["id"] = json!(format!("i{number}"));
            item["sourceUrl"] = json!(format!("https://gazette.example.com/{number}"));
            item["publishedDate"] = json!(published.before(Duration::from_millis(number as u64)));
        })
        .await?;
        // The items are due under another age.
        self.world.app.settings.set("News__MigrateAfterDays", "1");
        self.handler = MeasuredHandler::ready_on(&self.world.app).await?;
        self.migrated(n).await
    }

    async fn migrated(&mut self, n: usize) -> anyhow::Result<()> {
        let invoker = HttpInvoker::new(format!("http://{}", self.handler.address));
        let body = json!({"Data": {"timer": {"IsPastDue": false}}, "Metadata": {}}).to_string();
        let began = self.begin("news migrated by the timer");
        let mut moved = 0;
        while moved < n {
            let answer = invoker.invoke("NewsMigration", "migration", body.clone().into()).await?;
            let is_any = |_: &Value| true;
            let line =
                self.handler.line("Migrated feed items to the warm container", is_any).await?;
            eprintln!("{} after {} s", line["news.migrated"], began.1.elapsed().as_secs());
            let more = usize::try_from(line["news.migrated"].as_u64().unwrap_or_default())?;
            ensure!(more > 0, "the timer moves {moved} of {n} items: {answer:?}");
            moved += more;
        }
        self.end(began, n).await;
        Ok(())
    }

    async fn products(&mut self, n: usize) -> anyhow::Result<()> {
        let [category, tag] = ["/api/categories/c0", "/api/tags/t0"];
        for label in [category, tag] {
            self.answer(&Call::put(label, json!({"name": "A name"}))).await?;
        }
        let body = json!({"sku": "SKU", "name": "A product", "price": 10, "tagIds": ["t0"]});
        self.answer(&Call::put(format!("{category}/products/i0"), body)).await?;
        let product = json!({"id": "i0", "categoryId": "c0"});
        let edit = |item: &mut Value, number| item["id"] = json!(format!("i{number}"));
        self.clone("product", "categoryId", &product, n, edit).await?;
        self.delivered("products, in all projections", n).await?;
        for (what, label) in [("a renamed category", category), ("a renamed tag", tag)] {
            let rename = Call::put(label, json!({"name": "Another name"}));
            self.renamed(&format!("{what}: the names"), &rename, "LabelNames", n).await?;
        }
        Ok(())
    }

    async fn renamed(
        &mut self,
        what: &str,
        rename: &Call,
        function: &str,
        n: usize,
    ) -> anyhow::Result<()> {
        let began = self.begin(what);
        self.answer(rename).await?;
        self.world.drain(&self.handler, &[function]).await?;
        self.end(began, n).await;
        self.delivered("what follows from them", n).await
    }

    async fn delivered(&mut self, what: &str, n: usize) -> anyhow::Result<()> {
        let began = self.begin(what);
        self.world.drain(&self.handler, &[]).await?;
        self.end(began, n).await;
        Ok(())
    }

    async fn answer(&self, call: &Call) -> anyhow::Result<Value> {
        // Under the id of an earlier one it would be a repetition, which changes nothing.
        let id = Uuid::new_v4().to_string();
        let reply = self.handler.connection.send(call, &id).await?;
        ensure!(reply.status.is_success(), "{} was answered {}", call.path, reply.text());
        Ok(reply.json())
    }

    /// Writes clones past the app until there are `n` items. `first` has the id, and the partition key as `key`.
    async fn clone(
        &self,
        container: &str,
        key: &str,
        first: &Value,
        n: usize,
        edit: impl Fn(&mut Value, usize),
    ) -> anyhow::Result<()> {
        eprintln!("Writing {n} items to {container}");
        let container = self.world.container(container).await?;
        let text = |item: &Value, name: &str| {
            item[name].as_str().map(str::to_owned).with_context(|| format!("no {name}: {item}"))
        };
        let first = container.read_item(text(first, key)?, &text(first, "id")?, None).await?;
        let mut first: Value = first.into_model()?;
        if let Some(properties) = first.as_object_mut() {
            properties.retain(|name, _| !name.starts_with('_'));
        }
        let writes = (1..n).map(async |number| {
            let mut item = first.clone();
            edit(&mut item, number);
            container.create_item(text(&item, key)?, &text(&item, "id")?, &item, None).await?;
            Ok(())
        });
        stream::iter(writes).buffer_unordered(WRITERS).try_collect().await
    }

    fn begin<'w>(&mut self, what: &'w str) -> (&'w str, Instant) {
        eprintln!("Measuring {what}");
        self.handler.costs();
        (what, Instant::now())
    }

    async fn end(&mut self, (what, began): (&str, Instant), n: usize) {
        let took = began.elapsed();
        tokio::time::sleep(LOG_DELAY).await;
        // The handler logs no cost of a timer.
        let cost = |total: f64| if total > 0.0 { each(total, n) } else { "-".to_owned() };
        let [requests, request_units] = self.handler.costs().map(cost);
        let seconds = format!("{:.1}", took.as_secs_f64());
        eprintln!("{what}: {seconds} s");
        self.table.row([
            what.to_owned(),
            n.to_string(),
            seconds,
            rate(n, took),
            requests,
            request_units,
        ]);
    }
}
