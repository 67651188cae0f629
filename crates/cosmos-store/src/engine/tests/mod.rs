//! Stories of the engine, and its properties against a naive model.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{
    Committed, ContainerId, Done, Engine, EpkRange, Item, ItemOperation, Mode, Name, Operation,
    View,
};
use crate::{Result, json::Json};

mod crash;
mod definitions;
mod model;
mod rules;

/// A container of a store of its own.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) container: ContainerId,
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[allow(clippy::needless_pass_by_value, reason = "tests give it literals")]
fn parsed(value: Value) -> Json {
    Json::parse(value.to_string().as_bytes()).unwrap()
}

fn value(item: &Item) -> Value {
    serde_json::from_slice(&item.body).unwrap()
}

impl World {
    /// Creates a store in memory with a container: the key is `/pk` unless `properties` have another.
    pub(crate) fn new(properties: Value) -> Self {
        Self::of(Engine::open(None).unwrap(), properties)
    }

    #[allow(clippy::needless_pass_by_value, reason = "tests give it literals")]
    fn of(engine: Engine, properties: Value) -> Self {
        let mut definition = json!({"id": "c", "partitionKey": {"paths": ["/pk"]}});
        definition.as_object_mut().unwrap().extend(properties.as_object().unwrap().clone());
        if engine.view().database(Name::Id("d")).is_none() {
            run(engine.create_database(&json!({"id": "d"}), None)).unwrap();
        }
        run(engine.create_container(Name::Id("d"), &definition, 1, None)).unwrap();
        let container = engine.view().container(Name::Id("d"), Name::Id("c")).unwrap().0;
        Self { engine, container }
    }

    fn view(&self) -> View {
        self.engine.view()
    }

    fn transact(&self, key: &Value, operations: Vec<ItemOperation>) -> Result<Committed> {
        run(self.engine.transact(self.container, Some(&parsed(key.clone())), operations))
    }

    fn one(&self, key: &Value, operation: ItemOperation) -> Result<Done> {
        self.transact(key, vec![operation])?.into_one()
    }

    fn create(&self, item: &Value) -> Result<Done> {
        run(self.engine.transact(self.container, None, vec![put(Mode::Create, item)]))?.into_one()
    }

    fn upsert(&self, item: &Value) -> Result<Done> {
        run(self.engine.transact(self.container, None, vec![put(Mode::Upsert, item)]))?.into_one()
    }

    fn read(&self, key: &Value, id: &str) -> Option<Value> {
        let item = self.view().read(self.container, &parsed(key.clone()), id).unwrap();
        item.as_ref().map(value)
    }

    fn scan(&self, range: &EpkRange) -> Vec<Value> {
        self.view().scan(self.container, range, None).map(|item| value(&item)).collect()
    }
}

pub(crate) fn put(mode: Mode, item: &Value) -> ItemOperation {
    let operation = Operation::Put(mode, parsed(item.clone()));
    ItemOperation { operation, id: None, if_match: None, if_none_match: None }
}

fn of(operation: Operation, id: &str) -> ItemOperation {
    ItemOperation { operation, id: Some(id.to_owned()), if_match: None, if_none_match: None }
}

struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        Self(std::env::temp_dir().join(format!("cosmos-store-{}", uuid::Uuid::new_v4())))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}
