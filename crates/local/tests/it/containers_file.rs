//! `infra/containers.json`: what it may say, and the containers that are made of it.

use azure_data_cosmos::models::ContainerProperties;
use serde_json::{Value, json};
use tributary_local::cosmos::{ContainersFile, CosmosEndpoint, EndpointOptions};

#[test]
fn a_misspelt_key_is_an_error_that_names_container_and_key() {
    let refused = [
        ("/defaultTTL", json!(-1), "defaultTTL"),
        ("/partitionKey/Version", json!(2), "Version"),
        ("/indexingPolicy/indexMode", json!("consistent"), "indexMode"),
        ("/indexingPolicy/includedPaths/0/paht", json!("/x"), "paht"),
        ("/indexingPolicy/compositeIndexes/0/0/ordre", json!("ascending"), "ordre"),
        ("/conflictResolutionPolicy", json!({ "mode": "x" }), "conflictResolutionPolicy"),
        ("/partitionKey/version", json!(1), "partitionKey.version"),
        ("/defaultTtl", Value::Null, "defaultTtl"),
    ];
    let error = |container: &Value| {
        let parsed = ContainersFile::parse(&json!({ "containers": [container] }).to_string());
        parsed.err().map(|error| error.to_string())
    };
    assert_eq!(error(&container()), None);
    for (pointer, value, named) in refused {
        let mut container = container();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        container.pointer_mut(parent).unwrap()[key] = value;
        let text = error(&container).unwrap();
        let id = container["id"].as_str().unwrap();
        assert!(text.contains(&format!("'{id}'")) && text.contains(named), "{text}");
    }
}

#[test]
fn a_file_without_a_list_of_containers_is_refused() {
    let other_key = r#"{ "containers": [], "container": [] }"#;
    for text in ["", "{}", "[]", r#"{ "containers": [1] }"#, r#"{ "containers": [{}] }"#, other_key]
    {
        assert!(ContainersFile::parse(text).is_err(), "{text}");
    }
    let twice = json!({ "containers": [container(), container()] }).to_string();
    let text = ContainersFile::parse(&twice).unwrap_err().to_string();
    assert!(text.contains("same id"), "{text}");
}

fn container() -> Value {
    json!({
        "id": "posts",
        "partitionKey": { "paths": ["/postId"], "kind": "Hash", "version": 2 },
        "defaultTtl": -1,
        "indexingPolicy": {
            "automatic": true,
            "indexingMode": "consistent",
            "includedPaths": [{ "path": "/type/?" }],
            "excludedPaths": [{ "path": "/*" }],
            "compositeIndexes": [[
                { "path": "/type", "order": "descending" },
                { "path": "/id", "order": "ascending" }
            ]]
        }
    })
}

#[tokio::test]
async fn a_second_provisioning_keeps_what_is_there_and_refuses_another_partition_key() {
    let text = include_str!("../../../../infra/containers.json");
    let containers = ContainersFile::parse(text).unwrap();
    let endpoint = CosmosEndpoint::new(EndpointOptions::default()).unwrap();
    endpoint.provision("d", &containers).await.unwrap();
    let client = endpoint.client().await.unwrap();
    let database = client.database_client("d");
    let posts = database.container_client("posts", None).await.unwrap();
    posts.create_item("p1", "p1", json!({ "id": "p1", "postId": "p1" }), None).await.unwrap();

    endpoint.provision("d", &containers).await.unwrap();

    posts.read_item("p1", "p1", None).await.unwrap();
    for expected in containers.containers() {
        let container = database.container_client(expected.id.to_string(), None).await.unwrap();
        let found = container.read(None).await.unwrap().into_model().unwrap();
        // The service adds an excluded path, that of the ETags.
        let paths = |container: &ContainerProperties| {
            let policy = container.indexing_policy.clone().unwrap();
            (policy.included_paths, policy.composite_indexes)
        };
        assert_eq!(paths(&found), paths(expected));
        assert_eq!(found.default_ttl, expected.default_ttl);
    }
    let refused = async |id: &str, path: &str| {
        let file = crate::support::containers(&[(id, path)]).to_string();
        let file = ContainersFile::parse(&file).unwrap();
        endpoint.provision("d", &file).await.unwrap_err().to_string()
    };
    let text = refused("posts", "/blogId").await;
    assert!(["'posts'", "/postId", "/blogId"].iter().all(|part| text.contains(part)), "{text}");
    // The store checks the values.
    assert_eq!(refused("others", "blogId").await, "the container 'others' cannot be made");
}

#[test]
fn a_container_has_at_least_one_physical_partition() {
    let options = EndpointOptions { partitions: 0, ..EndpointOptions::default() };
    let error = CosmosEndpoint::new(options).unwrap_err();
    assert!(error.to_string().contains("1 to 1,000 physical partitions"), "{error}");
}
