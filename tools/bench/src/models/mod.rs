//! `cargo xtask bench models`: the data models V1, V2 ([`article`]) and V3 ([`v3`], the product) of the article [How to
//! model and partition data on Azure Cosmos DB](https://learn.microsoft.com/azure/cosmos-db/nosql/model-partition-example),
//! side by side: the cost of its ten requests in each. `docs/models.md` explains the results.

mod article;
mod v3;

mod data;
mod requests;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value;
use tributary_functions::cosmos::{Cosmos, metered};
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions};

use self::{
    article::{V1, V2},
    data::{DataSet, Person},
    requests::{ModelCall, RequestKind},
    v3::V3,
};
use crate::{
    machine,
    report::{Table, number},
};

/// The size of the data, and the number of requests.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelsOptions {
    /// Users that write posts, 5 to 50 each. At least 100 users comment and like.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    users: u32,

    /// The share of the article's comments (up to 25 a post) and likes (up to 100 a post).
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(0..=100))]
    percent: u32,
}

const MAX_REQUESTS: usize = 200;
/// The number of users for each physical partition of a container: the split of Azure at 50 GB, scaled down.
const USERS_OF_A_PARTITION: u32 = 25;
const MAX_TIME: Duration = Duration::from_secs(2);
const N_VISITORS: usize = 2;
const N_WRITERS: usize = 8;
const DATABASE: &str = "models";

/// A data model: its containers, the ten requests, and the items of the data set.
trait Model: Sized {
    /// 1 for V1.
    const NUMBER: usize;

    fn containers() -> anyhow::Result<ContainersFile>;

    fn new(cosmos: &Arc<Cosmos>) -> anyhow::Result<Self>;

    /// In their final form: the post, its comments and likes, and the copies of the model.
    fn items_of(post: &[Value]) -> anyhow::Result<Vec<NewItem>>;

    fn items_of_all(_: &DataSet) -> anyhow::Result<Vec<NewItem>> {
        Ok(Vec::new())
    }

    async fn put_user(&self, person: &Person) -> anyhow::Result<Value>;

    /// Answers a request. The answers of the models are the same, but for ids.
    async fn answer(&self, call: ModelCall) -> anyhow::Result<Value>;
}

type NewItem = (&'static str, String, Value);

struct ModelRow {
    kind: RequestKind,
    model: usize,
    request_units: f64,
    store_requests: f64,
}

pub(crate) async fn run(options: &ModelsOptions) -> anyhow::Result<()> {
    let data = DataSet::generate(options.users, options.percent);
    let partitions = options.users.div_ceil(USERS_OF_A_PARTITION).min(1_000);
    let mut rows = measured::<V1>(&data, partitions).await?;
    rows.extend(measured::<V2>(&data, partitions).await?);
    rows.extend(measured::<V3>(&data, partitions).await?);
    rows.sort_by_key(|row| (row.kind, row.model));
    let count =
        |name: &str| data.posts.iter().filter_map(|post| post[0][name].as_u64()).sum::<u64>();
    println!(
        "{} users, {} posts, {} comments, {} likes, {partitions} physical partitions a container; {}",
        options.users,
        data.posts.len(),
        count("commentCount"),
        count("likeCount"),
        machine::line()
    );
    println!("\n{}", table(&rows));
    Ok(())
}

fn table(rows: &[ModelRow]) -> Table {
    let mut table = Table::new("request | model | store requests | RU | article's RU");
    for row in rows {
        table.row([
            format!("{:?}", row.kind),
            format!("V{}", row.model),
            format!("{:.1}", row.store_requests),
            format!("{:.2}", row.request_units),
            format!("{:.2}", row.kind.published()[row.model - 1]),
        ]);
    }
    table
}

struct Loaded<M> {
    model: M,
    endpoint: CosmosEndpoint,
}

impl<M: Model> Loaded<M> {
    /// Creates the users by requests, and writes all other items in their final form, which takes a request each.
    async fn new(data: &DataSet, partitions: u32) -> anyhow::Result<Self> {
        let endpoint = CosmosEndpoint::new(EndpointOptions {
            partitions,
            expiry_interval: None,
            keep_requests: true,
            ..EndpointOptions::default()
        })?;
        endpoint.provision(DATABASE, &M::containers()?).await?;
        let (account, runtime) = endpoint.connect().await?;
        let cosmos = Cosmos::new(account, Some(runtime), DATABASE.to_owned());
        let model = M::new(&cosmos)?;
        let users = stream::iter(&data.users).map(|person| model.put_user(person));
        users.buffer_unordered(N_WRITERS).try_for_each(async |_| Ok(())).await?;
        let posts = data.posts.iter().map(|post| M::items_of(post));
        let posts = posts.chain([M::items_of_all(data)]).map(async |items| {
            for (container, partition, item) in items? {
                let id = item["id"].as_str().context("an item has an id")?;
                cosmos.container(container).create(&partition, id, &item).await?;
            }
            // The requests of the load are not measured: the list would only grow.
            endpoint.take_requests();
            anyhow::Ok(())
        });
        stream::iter(posts).buffer_unordered(N_WRITERS).try_collect::<()>().await?;
        Ok(Self { model, endpoint })
    }
}

async fn measured<M: Model>(data: &DataSet, partitions: u32) -> anyhow::Result<Vec<ModelRow>> {
    eprintln!("Loading V{}", M::NUMBER);
    let Loaded { model, endpoint } = Loaded::<M>::new(data, partitions).await?;
    let mut visitors = Vec::new();
    for n in 0..N_VISITORS {
        let visitor = Person { id: format!("visitor-{n}"), username: format!("visitor-{n}") };
        model.put_user(&visitor).await?;
        visitors.push(visitor);
    }
    let mut rows = Vec::new();
    for kind in RequestKind::ALL {
        eprintln!("Measuring {kind:?} of V{}", M::NUMBER);
        let mut calls = requests::calls(kind, data, &visitors);
        // The SDK reads the container of a query once, and the product caches the names of all visitors.
        let n_before = if kind.is_command() { N_VISITORS } else { 1 };
        for call in calls.by_ref().take(n_before) {
            model.answer(call).await?;
        }
        let begin = Instant::now();
        let mut n = 0;
        let mut request_units = 0.0;
        endpoint.take_requests();
        for call in calls.take(MAX_REQUESTS).take_while(|_| begin.elapsed() < MAX_TIME) {
            let (answer, meter) = metered(model.answer(call)).await;
            answer.with_context(|| format!("{kind:?} of V{}", M::NUMBER))?;
            request_units += meter.request_units();
            n += 1;
        }
        rows.push(ModelRow {
            kind,
            model: M::NUMBER,
            request_units: request_units / number(n),
            store_requests: number(endpoint.take_requests().len()) / number(n),
        });
    }
    Ok(rows)
}
