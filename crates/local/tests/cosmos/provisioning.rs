use tributary_local::cosmos::{
    ContainersFile, CosmosEndpoint, EndpointError, EndpointOptions, provision,
};

use crate::world::{CONTAINERS, DATABASE, World, comment, options};

#[tokio::test]
async fn a_second_provisioning_keeps_the_items() {
    let containers = ContainersFile::parse(CONTAINERS).unwrap();
    for world in World::both_ways(options()).await {
        let posts = world.container("posts").await;
        posts.create_item("p1", "c1", comment("c1"), None).await.unwrap();

        provision(&world.client, DATABASE, &containers).await.unwrap();

        posts.read_item("p1", "c1", None).await.unwrap();
        for expected in containers.containers() {
            let container = world.container(&expected.id).await;
            let found = container.read(None).await.unwrap().into_model().unwrap();
            assert_eq!(found.indexing_policy, expected.indexing_policy);
            assert_eq!(found.default_ttl, expected.default_ttl, "{}", world.way);
        }
    }
}

#[tokio::test]
async fn an_existing_container_with_another_partition_key_is_an_error() {
    let other = r#"{ "containers": [{ "id": "posts",
        "partitionKey": { "paths": ["/blogId"], "kind": "Hash", "version": 2 } }] }"#;
    let other = ContainersFile::parse(other).unwrap();
    for world in World::both_ways(options()).await {
        let error = provision(&world.client, DATABASE, &other).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("'posts'") && text.contains("/postId") && text.contains("/blogId"),
            "{text}"
        );
    }
}

#[test]
fn a_container_has_at_least_one_physical_partition() {
    let options = EndpointOptions { partitions: 0, ..EndpointOptions::default() };
    let error = CosmosEndpoint::in_process(options).unwrap_err();
    assert!(matches!(error, EndpointError::Option(_)), "{error}");
}
