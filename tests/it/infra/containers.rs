//! `infra/containers.json` as two programs read it: the Bicep module, which sends it to Azure Resource
//! Manager, and the SDK.

use azure_data_cosmos::models::{
    CompositeIndexOrder, ContainerProperties, IndexingMode, IndexingPolicy, PartitionKeyKind,
    PartitionKeyVersion, PropertyPath, TimeToLive,
};
use serde_json::{Map, Value, json};
use tributary_local::cosmos::ContainersFile;

use super::{
    bicep::{Bicep, children},
    text,
};

#[test]
fn bicep_and_the_sdk_see_the_same_containers() {
    let arm = sent_to_arm();
    let sdk = ContainersFile::parse(&text("infra/containers.json")).unwrap();
    let sdk: Vec<(String, Value)> =
        sdk.containers().iter().map(|c| (c.id.to_string(), in_arm_names(c))).collect();
    assert!(arm.len() >= 5, "the containers are gone");
    assert_eq!(arm, sdk);
}

#[test]
fn the_lease_container_is_what_the_trigger_needs() {
    let (_, leases) = sent_to_arm().into_iter().find(|(name, _)| name == "leases").unwrap();
    assert_eq!(leases["partitionKey"]["paths"], json!(["/id"]));
    assert_eq!(leases["defaultTtl"], -1, "a lock whose owner died would block the start");
}

/// Name and `properties.resource` of every container, as `modules/cosmos.bicep` makes them: it must
/// loop over the file, one at a time, and send each element as it is.
fn sent_to_arm() -> Vec<(String, Value)> {
    const TYPE: &str = "'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@";
    let bicep = Bicep::read("infra/modules/cosmos.bicep");
    let mut containers = bicep.declarations("resource_declaration");
    containers.retain(|node| bicep.text_of(bicep.only(*node, "string")).starts_with(TYPE));
    let [resource] = containers[..] else { panic!("one resource makes all containers") };
    let decorators = resource.prev_named_sibling().unwrap();
    assert_eq!(bicep.text_of(decorators).trim(), "@batchSize(1)");

    let each = bicep.only(resource, "for_statement");
    let [element, list, body] = children(each)[..] else { panic!("a loop over a list") };
    let element = bicep.text_of(element);
    assert_eq!(bicep.text_of(bicep.property(body, "name")), format!("{element}.id"));
    let properties = bicep.property(body, "properties");
    assert_eq!(bicep.text_of(bicep.property(properties, "resource")), element);

    let mut variables = bicep.declarations("variable_declaration");
    variables.retain(|node| bicep.name(*node) == bicep.text_of(list));
    let value = bicep.text_of(variables[0].named_child(1).unwrap());
    assert_eq!(value, "loadJsonContent('../containers.json').containers");

    let file: Value = serde_json::from_str(&text("infra/containers.json")).unwrap();
    let elements = file["containers"].as_array().unwrap();
    elements.iter().map(|e| (e["id"].as_str().unwrap().to_owned(), e.clone())).collect()
}

/// Returns the SDK's reading, written with the names of the ARM type `SqlContainerResource`. Every
/// value comes from a typed field, so a value that the SDK skipped or kept unread is missing here.
fn in_arm_names(container: &ContainerProperties) -> Value {
    let key = &container.partition_key;
    let mut resource = json!({
        "id": container.id,
        "partitionKey": {
            "paths": key.paths(),
            "kind": match key.kind() {
                PartitionKeyKind::Hash => "Hash",
                PartitionKeyKind::MultiHash => "MultiHash",
                kind => panic!("{kind:?} is not for new containers"),
            },
            "version": match key.version() {
                PartitionKeyVersion::V2 => 2,
                version => panic!("{version:?} is not for new containers"),
            },
        },
    });
    match container.default_ttl {
        TimeToLive::Forever => {}
        TimeToLive::NoDefault => resource["defaultTtl"] = json!(-1),
        TimeToLive::Seconds(seconds) => resource["defaultTtl"] = json!(seconds),
        _ => panic!("a kind of time to live that the SDK did not have"),
    }
    if let Some(policy) = &container.indexing_policy {
        resource["indexingPolicy"] = indexing_policy(policy);
    }
    if let Some(policy) = &container.unique_key_policy {
        let keys: Vec<_> = policy.unique_keys.iter().map(|k| json!({"paths": k.paths})).collect();
        resource["uniqueKeyPolicy"] = json!({ "uniqueKeys": keys });
    }
    resource
}

fn indexing_policy(policy: &IndexingPolicy) -> Value {
    let mut value = Map::new();
    value.insert("automatic".into(), policy.automatic.into());
    if let Some(mode) = &policy.indexing_mode {
        let mode = match mode {
            IndexingMode::Consistent => "consistent",
            IndexingMode::None => "none",
            _ => panic!("a mode that the SDK did not have"),
        };
        value.insert("indexingMode".into(), mode.into());
    }
    let paths = |list: &[PropertyPath]| -> Vec<Value> {
        list.iter().map(|path| json!({ "path": path.path })).collect()
    };
    value.insert("includedPaths".into(), paths(&policy.included_paths).into());
    value.insert("excludedPaths".into(), paths(&policy.excluded_paths).into());
    let composite: Vec<Value> = policy
        .composite_indexes
        .iter()
        .map(|index| {
            let properties = index.properties.iter().map(|property| {
                let order = match property.order {
                    CompositeIndexOrder::Ascending => "ascending",
                    CompositeIndexOrder::Descending => "descending",
                    _ => panic!("an order that the SDK did not have"),
                };
                json!({ "path": property.path, "order": order })
            });
            properties.collect()
        })
        .collect();
    if !composite.is_empty() {
        value.insert("compositeIndexes".into(), composite.into());
    }
    value.into()
}
