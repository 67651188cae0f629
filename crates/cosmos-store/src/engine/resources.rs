//! Databases, containers and offers: how they come, change and go.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    ContainerId, Definition, EpkRange, Name, Partition, Resource,
    catalog::{Catalog, Container, conflict, not_found, precondition},
    definition, epk, record,
};
use crate::{Refusal, Result};

impl Catalog {
    pub(super) fn create_database(&mut self, id: &str, offer: Option<&Value>) -> Result<Resource> {
        if self.database(Name::Id(id)).is_some() {
            return Err(conflict());
        }
        let content = offer.map(offer_content).transpose()?;
        self.counters.database += 1;
        let number = self.counters.database;
        let rid = record::encode(&number.to_be_bytes());
        let link = format!("dbs/{rid}/");
        let json = json!({
            "id": id, "_rid": rid, "_self": link, "_etag": self.new_etag(), "_colls": "colls/", "_users": "users/",
            "_ts": self.counters.ts,
        });
        self.databases.insert(number, Arc::new(json.clone()));
        if let Some(content) = content {
            self.create_offer(&rid, &link, &content);
        }
        Ok(Resource { rid, json })
    }

    /// Creates a container from a complete definition. A database without throughput of its own gives the container
    /// the service's least one.
    pub(super) fn create_container(
        &mut self,
        database: u32,
        definition: Map<String, Value>,
        partitions: u32,
        throughput: Option<&Value>,
    ) -> Result<Resource> {
        if !self.databases.contains_key(&database) {
            return Err(not_found());
        }
        let name = definition.get("id");
        if self.containers_of(database).any(|one| Some(&one.definition.json["id"]) == name) {
            return Err(conflict());
        }
        let database_rid = record::encode(&database.to_be_bytes());
        let shared = self.offers.values().any(|offer| offer["offerResourceId"] == *database_rid);
        let content = throughput.map(offer_content).transpose()?;
        let content = content.or_else(|| (!shared).then(|| json!({"offerThroughput": 400})));
        self.counters.container += 1;
        let id = self.counters.container;
        let names = record::Names::new(database, id, self.store);
        let (rid, link) =
            (names.container.clone(), format!("dbs/{}/colls/{}/", names.database, names.container));
        let definition = self.with_system_properties(definition, &rid, &link);
        let bounds = epk::bounds(partitions.clamp(1, 1000), definition.hash_version);
        let from = [Vec::new()].into_iter().chain(bounds.clone());
        let until = bounds.into_iter().chain([vec![0xff]]);
        let partitions: Vec<_> = (0..)
            .zip(from.zip(until))
            .map(|(id, (from, until))| Partition {
                id,
                range: EpkRange { from, until },
                parents: Vec::new(),
                lsn: 0,
            })
            .collect();
        let json = definition.json.clone();
        let container = Container {
            definition: Arc::new(definition),
            next_partition: u32::try_from(partitions.len()).unwrap_or_default(),
            partitions,
            ..Container::empty(id, database, self.store)
        };
        self.containers.insert(id, Arc::new(container));
        if let Some(content) = content {
            self.create_offer(&rid, &link, &content);
        }
        Ok(Resource { rid, json })
    }

    pub(super) fn replace_container(
        &mut self,
        id: ContainerId,
        definition: Map<String, Value>,
        if_match: Option<&str>,
    ) -> Result<Resource> {
        let container = self.container(id)?;
        let old = container.definition.json.clone();
        if if_match.is_some_and(|etag| etag != "*" && old["_etag"] != etag) {
            return Err(precondition());
        }
        definition::check_replacement(old.as_object().unwrap_or(&Map::new()), &definition)?;
        let (rid, link) = (
            container.names.container.clone(),
            old["_self"].as_str().unwrap_or_default().to_owned(),
        );
        let definition = self.with_system_properties(definition, &rid, &link);
        let json = definition.json.clone();
        self.container_mut(id)?.redefine(definition);
        Ok(Resource { rid, json })
    }

    fn with_system_properties(
        &mut self,
        mut json: Map<String, Value>,
        rid: &str,
        link: &str,
    ) -> Definition {
        let etag = self.new_etag();
        let own = [
            ("_rid", json!(rid)),
            ("_ts", json!(self.counters.ts)),
            ("_self", json!(link)),
            ("_etag", json!(etag)),
        ];
        let children = ["docs", "sprocs", "triggers", "udfs", "conflicts"];
        json.extend(own.map(|(name, value)| (name.to_owned(), value)));
        json.extend(children.map(|name| (format!("_{name}"), json!(format!("{name}/")))));
        Definition::read(Value::Object(json))
    }

    /// Removes a container with its offer.
    pub(super) fn delete_container(&mut self, id: ContainerId) -> Result<()> {
        let container = self.containers.remove(&id).ok_or_else(not_found)?;
        self.offers.retain(|_, offer| offer["offerResourceId"] != *container.names.container);
        Ok(())
    }

    /// Removes a database with its containers and offers.
    pub(super) fn delete_database(&mut self, number: u32) -> Result<()> {
        let json = self.databases.remove(&number).ok_or_else(not_found)?;
        self.offers.retain(|_, offer| offer["offerResourceId"] != json["_rid"]);
        let containers: Vec<_> = self.containers_of(number).map(|container| container.id).collect();
        containers.into_iter().try_for_each(|container| self.delete_container(container))
    }

    fn create_offer(&mut self, resource: &str, link: &str, content: &Value) {
        self.counters.offer += 1;
        let number = self.counters.offer;
        // The SDKs take resource ids of three bytes for offers.
        let [_, bytes @ ..] = number.to_be_bytes();
        let rid = record::encode(&bytes);
        let offer = json!({
            "id": rid, "_rid": rid, "_self": format!("offers/{rid}/"), "_etag": self.new_etag(), "_ts": self.counters.ts,
            "resource": link, "offerResourceId": resource, "offerType": "Invalid", "offerVersion": "V2", "content": content,
        });
        self.offers.insert(number, Arc::new(offer));
    }

    pub(super) fn replace_offer(&mut self, rid: &str, offer: &Value) -> Result<Resource> {
        let found = self.offers.iter().find(|(_, offer)| offer["_rid"] == rid);
        let (number, mut json) =
            found.map(|(number, offer)| (*number, offer.as_ref().clone())).ok_or_else(not_found)?;
        json["content"] = offer_content(&offer["content"])?;
        json["_etag"] = json!(self.new_etag());
        json["_ts"] = json!(self.counters.ts);
        self.offers.insert(number, Arc::new(json.clone()));
        Ok(Resource { rid: rid.to_owned(), json })
    }

    fn new_etag(&mut self) -> String {
        let write = self.next_write();
        record::etag(self.store, write)
    }
}

/// Checks the content of an offer and completes it.
fn offer_content(content: &Value) -> Result<Value> {
    let autoscale = &content["offerAutopilotSettings"]["maxThroughput"];
    let (throughput, least, step) = if autoscale.is_null() {
        (&content["offerThroughput"], 400, 100)
    } else {
        (autoscale, 1000, 1000)
    };
    let throughput = match throughput.as_i64() {
        Some(throughput) if throughput < least => Err(format!(
            "Requested throughput {throughput} is less than required minimum throughput {least}."
        )),
        Some(throughput) if throughput % step == 0 => Ok(throughput),
        _ => Err(format!("The offer should have valid throughput values: steps of {step}.")),
    };
    let throughput = throughput.map_err(|text| Refusal::new(400, text))?;
    let mut completed = content.clone();
    if !autoscale.is_null() {
        completed["offerThroughput"] = json!(throughput / 10);
    }
    completed["offerIsRUPerMinuteThroughputEnabled"] = json!(false);
    Ok(completed)
}
