//! `infra/containers.json` as two programs read it: the Bicep module, which sends it to Azure Resource
//! Manager, and the SDK.

use serde_json::{Value, json, to_value};
use tributary_local::cosmos::ContainersFile;

use super::{
    bicep::{Bicep, children},
    text,
};

#[test]
fn bicep_and_the_sdk_see_the_same_containers() {
    let arm = sent_to_arm();
    let sdk = ContainersFile::parse(&text("infra/containers.json")).unwrap();
    let sdk = sdk.containers().iter();
    let sdk: Vec<_> = sdk.map(|c| (c.id.to_string(), to_value(c).unwrap())).collect();
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
