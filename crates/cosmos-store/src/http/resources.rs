//! Databases, containers, offers and partition key ranges.

use http::Method;
use serde_json::{Value, json};

use super::{
    Service,
    address::{self, Container},
    answer::Answer,
    blocking,
    call::{Call, bad_continuation, is_query, name, reads},
};
use crate::{
    Refusal, Result,
    engine::{ContainerId, Name, Partition, Resource, View, hex, not_found, precondition},
    json::Json,
    sql::Prepared,
};

/// The least throughput of a container, in request units a second.
const MIN_THROUGHPUT_RU: u64 = 400;
/// The throughput of a physical partition at most, in request units a second.
const PARTITION_THROUGHPUT_RU: u64 = 10_000;
/// The physical partitions of a container at most.
const MAX_PARTITIONS: u64 = 1_000;

impl Service {
    /// Answers a request for `/dbs`.
    pub(super) async fn databases(&self, call: &Call) -> Result<Answer> {
        match *call.method() {
            _ if reads(&call.request) => page(call, "", "Databases", call.view.databases()),
            Method::POST => {
                let throughput = throughput(call)?;
                let made = self.engine.create_database(&call.value()?, throughput).await?;
                let path = format!("dbs/{}", made.json["id"].as_str().unwrap_or_default());
                Ok(Answer::resource(201, &made.json).owner(&path, &made.rid))
            }
            _ => Err(no_such_verb()),
        }
    }

    pub(super) async fn database(&self, call: &Call, segment: &str) -> Result<Answer> {
        let found = address::database(&call.view, segment).ok_or_else(not_found)?;
        match *call.method() {
            Method::GET => Ok(unless_known(call, &found.json)),
            Method::DELETE => {
                self.engine.delete_database(Name::Rid(&found.rid)).await?;
                Ok(Answer::new(204))
            }
            _ => Err(no_such_verb()),
        }
    }

    pub(super) async fn containers(&self, call: &Call, segment: &str) -> Result<Answer> {
        let database = address::database(&call.view, segment)
            .ok_or_else(|| address::owner_not_found().with_sub_status(0))?;
        match *call.method() {
            _ if reads(&call.request) => {
                let containers = call.view.containers(Name::Rid(&database.rid)).into_iter();
                let all = containers.map(|(_, definition)| Resource::new(&definition.json));
                page(call, &database.rid, "DocumentCollections", all.collect())
            }
            Method::POST => {
                let throughput = throughput(call)?;
                let partitions = self.partitions(throughput.as_ref());
                let (parent, body) = (Name::Rid(&database.rid), call.value()?);
                let made =
                    self.engine.create_container(parent, &body, partitions, throughput).await?;
                Ok(self.container_answer(201, segment, &made))
            }
            _ => Err(no_such_verb()),
        }
    }

    fn partitions(&self, throughput: Option<&Value>) -> u32 {
        let manual = throughput.and_then(|it| it["offerThroughput"].as_u64());
        let most = throughput.and_then(|it| it["offerAutopilotSettings"]["maxThroughput"].as_u64());
        let needed = manual.or(most).unwrap_or_default().div_ceil(PARTITION_THROUGHPUT_RU);
        let needed = u32::try_from(needed.min(MAX_PARTITIONS)).unwrap_or(1);
        self.options.partitions.max(needed).max(1)
    }

    pub(super) async fn container(&self, call: &Call, container: Container) -> Result<Answer> {
        match *call.method() {
            Method::GET => {
                let mut answer = unless_known(call, &container.definition.json);
                if call.is("x-ms-documentdb-populatepartitionstatistics") && answer.status == 200 {
                    let mut json = container.definition.json.clone();
                    let (view, id) = (call.view.clone(), container.id);
                    json["statistics"] = blocking(move || Ok(statistics(&view, id))).await?;
                    answer.body = json.to_string().into();
                }
                Ok(described(answer, &call.view, &container))
            }
            Method::PUT => {
                let if_match = call.header(name::IF_MATCH);
                let body = call.value()?;
                let replaced = self.engine.replace_container(container.id, &body, if_match).await?;
                Ok(self.container_answer(200, &container.database, &replaced))
            }
            Method::DELETE => {
                if let Some(etag) = call.header(name::IF_MATCH)
                    && Some(etag) != container.definition.json["_etag"].as_str()
                {
                    return Err(precondition());
                }
                self.engine.delete_container(container.id).await?;
                Ok(Answer::new(204))
            }
            _ => Err(no_such_verb()),
        }
    }

    fn container_answer(&self, status: u16, database: &str, resource: &Resource) -> Answer {
        let answer = Answer::resource(status, &resource.json);
        let view = self.engine.view();
        match address::container(&view, database, &resource.rid) {
            Some(container) => described(answer, &view, &container),
            None => answer,
        }
    }

    pub(super) async fn offers(&self, call: &Call, rid: Option<&str>) -> Result<Answer> {
        let offer = match (call.method(), rid) {
            (_, None) if reads(&call.request) => {
                return page(call, "", "Offers", call.view.offers());
            }
            (&Method::GET, Some(rid)) => {
                let mut offers = call.view.offers().into_iter();
                offers.find(|offer| offer.rid.eq_ignore_ascii_case(rid)).ok_or_else(not_found)?
            }
            (&Method::PUT, Some(rid)) => {
                let offer = self.engine.replace_offer(rid, &call.value()?).await?;
                self.split_for(&offer.json).await;
                offer
            }
            _ => return Err(no_such_verb()),
        };
        let most = offer.json["content"]["offerAutopilotSettings"]["maxThroughput"].as_u64();
        let least = most.map_or(MIN_THROUGHPUT_RU, |most| most / 10).max(MIN_THROUGHPUT_RU);
        Ok(Answer::resource(200, &offer.json)
            .header("x-ms-cosmos-min-throughput", &least.to_string())
            .header("x-ms-offer-replace-pending", "false"))
    }

    /// Splits the physical partitions of a container until they have the throughput of its offer.
    async fn split_for(&self, offer: &Value) {
        // `resource` is `dbs/<rid>/colls/<rid>/`; that of a database has no partitions of its own.
        let link: Vec<&str> =
            offer["resource"].as_str().unwrap_or_default().trim_matches('/').split('/').collect();
        let [_, database, _, container] = link[..] else { return };
        let Some(container) = address::container(&self.engine.view(), database, container) else {
            return;
        };
        let needed = usize::try_from(self.partitions(Some(&offer["content"]))).unwrap_or(1);
        'splits: for _ in 0..needed {
            let mut partitions = self.engine.view().partitions(container.id);
            if partitions.len() >= needed {
                return;
            }
            // All are split before one of them is split again.
            partitions.sort_by_key(|partition| partition.parents.len());
            for partition in partitions {
                // One with a single logical partition stays as it is.
                if self.engine.split(container.id, partition.id).await.is_ok() {
                    continue 'splits;
                }
            }
            return;
        }
    }
}

/// Answers a request for the physical partitions. An SDK reads them until the answer is 304, and keeps them.
pub(super) fn ranges(call: &Call, container: &Container) -> Answer {
    let partitions = call.view.partitions(container.id);
    let newest = partitions.iter().map(|partition| partition.id).max();
    let etag = format!("\"{}\"", newest.unwrap_or_default().saturating_add(1));
    let rid = container.rid();
    let link = container.definition.json["_self"].as_str().unwrap_or_default();
    let time = &container.definition.json["_ts"];
    let count = u32::try_from(partitions.len().max(1)).unwrap_or(u32::MAX);
    let answer = if call.header(name::IF_NONE_MATCH) == Some(&etag) {
        Answer::new(304).count(0)
    } else {
        let range = |partition: &Partition| {
            let id = partition.id;
            let parents: Vec<_> = partition.parents.iter().map(ToString::to_string).collect();
            let (min, max) = (hex(&partition.range.from), hex(&partition.range.until));
            let range = json!({
                "_rid": rid, "id": id.to_string(), "_etag": etag, "_self": format!("{link}pkranges/{id}/"), "_ts": time,
                "minInclusive": min, "maxExclusive": max, "ridPrefix": id, "parents": parents, "status": "online",
                "throughputFraction": 1.0 / f64::from(count), "_lsn": partition.lsn,
            });
            range.to_string()
        };
        Answer::feed(rid, "PartitionKeyRanges", &partitions.iter().map(range).collect::<Vec<_>>())
    };
    answer.etag(&etag)
}

/// Answers a request for the conflicts: a single region for writing has none.
pub(super) fn conflicts(call: &Call, container: &Container, id: Option<&str>) -> Result<Answer> {
    match (call.method(), id) {
        (&Method::GET, None) => Ok(Answer::feed::<&str>(container.rid(), "Conflicts", &[])),
        (&Method::POST, None) if is_query(&call.request) => {
            if call.key()?.is_none() && !call.is(name::ALLOWS_ALL) {
                return Err(super::query::crosses_partitions());
            }
            Ok(Answer::feed::<&str>(container.rid(), "Conflicts", &[]))
        }
        _ => Err(not_found()),
    }
}

/// Returns the number and the size of the items of each physical partition.
fn statistics(view: &View, container: ContainerId) -> Value {
    let partitions = view.partitions(container).into_iter().map(|partition| {
        let sizes = view.scan(container, &partition.range, None).map(|item| item.body.len());
        let (count, bytes) = sizes.fold((0_u64, 0_usize), |(count, bytes), size| {
            (count.saturating_add(1), bytes.saturating_add(size))
        });
        json!({
            "id": partition.id.to_string(),
            "sizeInKB": bytes.div_ceil(1_024),
            "documentCount": count,
            "sampledDistinctPartitionKeyCount": 0,
            "partitionKeys": [],
        })
    });
    partitions.collect()
}

const QUOTA: &str =
    "documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;";
const USAGE: &str = "documentSize=0;documentsSize=0;documentsCount=0;collectionSize=0;";

/// Adds what an SDK reads besides the definition of a container.
fn described(answer: Answer, view: &View, container: &Container) -> Answer {
    answer
        .owner(&container.path(), container.rid())
        .session(&view.partitions(container.id))
        .header("x-ms-documentdb-collection-index-transformation-progress", "100")
        .header("x-ms-resource-quota", QUOTA)
        .header("x-ms-resource-usage", USAGE)
}

/// Returns a resource, or 304 if the request knows this version.
fn unless_known(call: &Call, json: &Value) -> Answer {
    match (call.header(name::IF_NONE_MATCH), json["_etag"].as_str()) {
        (Some(known), Some(etag)) if known == etag => Answer::new(304).etag(etag),
        _ => Answer::resource(200, json),
    }
}

/// Returns the page of a list, or of the resources that a query finds. Its continuation is the number of those before it.
fn page(call: &Call, rid: &str, list: &str, all: Vec<Resource>) -> Result<Answer> {
    let mut all: Vec<String> = all.into_iter().map(|resource| resource.json.to_string()).collect();
    if is_query(&call.request) {
        let (text, parameters) = super::query::text(&call.json()?)?;
        all = found(&Prepared::new(&text, parameters)?, &all)?;
    }
    let begin = match call.header(name::CONTINUATION) {
        None => 0,
        Some(token) => token.parse().map_err(|_| bad_continuation())?,
    };
    let most = call.max_items()?.and_then(|most| usize::try_from(most).ok());
    let rest = all.get(begin..).unwrap_or_default();
    let count = most.unwrap_or(rest.len()).min(rest.len());
    let answer = Answer::feed(rid, list, rest.get(..count).unwrap_or_default());
    let next = (count < rest.len()).then(|| begin.saturating_add(count).to_string());
    Ok(answer.continuation(next.as_deref()))
}

fn found(query: &Prepared, all: &[String]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for resource in all {
        let rows = query.rows(&Json::parse(resource.as_bytes())?)?;
        found.extend(rows.iter().filter_map(|row| row.result.as_ref().map(ToString::to_string)));
    }
    Ok(found)
}

/// Returns the throughput that a request asks for: the `content` of an offer.
fn throughput(call: &Call) -> Result<Option<Value>> {
    let manual = call.header("x-ms-offer-throughput");
    let autopilot = call.header("x-ms-cosmos-offer-autopilot-settings");
    let (name, text) = match (manual, autopilot) {
        (None, None) => return Ok(None),
        (Some(text), None) => ("offerThroughput", text),
        (None, Some(text)) => ("offerAutopilotSettings", text),
        (Some(_), Some(_)) => {
            let text = "x-ms-offer-throughput and x-ms-cosmos-offer-autopilot-settings cannot both be given.";
            return Err(Refusal::new(400, text));
        }
    };
    let bad = |_| Refusal::new(400, format!("The throughput '{text}' is malformed."));
    let value: Value = serde_json::from_str(text).map_err(bad)?;
    Ok(Some(json!({name: value})))
}

pub(super) fn no_such_verb() -> Refusal {
    Refusal::new(405, "The requested verb is not supported.")
}
