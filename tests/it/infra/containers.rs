//! `infra/containers.json` as two programs read it: the Bicep module, which sends it to Azure Resource
//! Manager, and the SDK.

use serde_json::{Value, json, to_value};
use tributary_local::cosmos::ContainersFile;

use super::text;

#[test]
fn bicep_and_the_sdk_see_the_same_containers() {
    let bicep = text("infra/modules/cosmos.bicep");
    // Each element of the file as it is, one at a time.
    for part in [
        "var containers = loadJsonContent('../containers.json').containers\n",
        "@batchSize(1)\nresource containerResources ",
        "= [for container in containers: {\n",
        "  name: container.id\n",
        "    resource: container\n",
    ] {
        assert!(bicep.contains(part), "{part}");
    }
    let sdk = ContainersFile::parse(&text("infra/containers.json")).unwrap();
    let sdk: Vec<_> = sdk.containers().iter().map(|it| to_value(it).unwrap()).collect();
    let file: Value = serde_json::from_str(&text("infra/containers.json")).unwrap();
    assert_eq!(file["containers"], json!(sdk));
    let leases = sdk.iter().find(|container| container["id"] == "leases").unwrap();
    assert_eq!(leases["partitionKey"]["paths"], json!(["/id"]), "the trigger needs it");
    assert_eq!(leases["defaultTtl"], -1, "a lock whose owner died would block the start");
}
