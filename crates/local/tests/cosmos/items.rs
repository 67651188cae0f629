use azure_data_cosmos::TransactionalBatch;
use azure_data_cosmos::models::{BatchResponse, TransactionalBatchOperationResult};
use azure_data_cosmos::options::{BatchReplaceOptions, ItemWriteOptions, Precondition};
use serde_json::{Value, json};

use crate::world::{World, comment, etag, options, status};

#[tokio::test]
async fn an_item_is_read_as_it_was_created() {
    for world in World::both_ways(options()).await {
        let posts = world.container("posts").await;
        let item = json!({
            "id": "p1", "postId": "p1", "title": "Grüße ✓", "likes": 3, "ratio": 0.25,
            "tags": ["a", "b"], "none": null,
        });
        posts.create_item("p1", "p1", item.clone(), None).await.unwrap();

        let read = posts.read_item("p1", "p1", None).await.unwrap();
        let charge = read.headers().request_charge().copied();
        let read: Value = read.into_model().unwrap();

        for (key, value) in item.as_object().unwrap() {
            assert_eq!(read[key], *value, "{} {key}", world.way);
        }
        assert!(read["_ts"].is_u64() && read["_etag"].is_string());
        assert!(charge.is_some(), "{}", world.way);
        assert_eq!(status(posts.create_item("p1", "p1", item, None).await), 409);
        assert_eq!(status(posts.read_item("p1", "p2", None).await), 404);
    }
}

#[tokio::test]
async fn an_id_may_have_characters_that_urls_do_not() {
    for world in World::both_ways(options()).await {
        let posts = world.container("posts").await;
        for id in ["a b", "ä✓", "a+b%25", "a&b=c", "a:b@c"] {
            let item = json!({ "id": id, "postId": id });
            posts.create_item(id, id, item, None).await.unwrap();
            let read: Value = posts.read_item(id, id, None).await.unwrap().into_model().unwrap();
            assert_eq!(read["id"], id, "{}", world.way);
        }
    }
}

#[tokio::test]
async fn a_replace_with_an_old_etag_is_refused() {
    for world in World::both_ways(options()).await {
        let posts = world.container("posts").await;
        let created = posts.create_item("p1", "c1", comment("c1"), None).await.unwrap();
        let if_match =
            ItemWriteOptions::default().with_precondition(Precondition::if_match(etag(&created)));
        let replace = |likes: u32| {
            let mut item = comment("c1");
            item["likes"] = json!(likes);
            posts.replace_item("p1", "c1", item, Some(if_match.clone()))
        };

        let replaced = replace(1).await.unwrap();
        assert_ne!(etag(&replaced), etag(&created), "{}", world.way);
        assert_eq!(status(replace(2).await), 412, "{}", world.way);

        let read = posts.read_item("p1", "c1", None).await.unwrap();
        assert_eq!(read.into_model::<Value>().unwrap()["likes"], 1);
    }
}

#[tokio::test]
async fn a_batch_is_applied_as_a_whole_or_not_at_all() {
    for world in World::both_ways(options()).await {
        let posts = world.container("posts").await;
        let parent = posts
            .create_item("p1", "p1", json!({ "id": "p1", "postId": "p1" }), None)
            .await
            .unwrap();
        let like = |likes: u32, child: &str| {
            let parent_at = BatchReplaceOptions::default()
                .with_precondition(Precondition::if_match(etag(&parent)));
            let liked = json!({ "id": "p1", "postId": "p1", "likes": likes });
            let batch = TransactionalBatch::new("p1")
                .replace_item("p1", liked, Some(parent_at))
                .unwrap()
                .create_item(comment(child))
                .unwrap();
            async { statuses(posts.execute_transactional_batch(batch, None).await.unwrap()) }
        };

        assert_eq!(like(1, "l1").await, [200, 201], "{}", world.way);
        assert_eq!(like(2, "l2").await, [412, 424], "{}", world.way);

        let read = posts.read_item("p1", "p1", None).await.unwrap();
        assert_eq!(read.into_model::<Value>().unwrap()["likes"], 1);
        assert_eq!(status(posts.read_item("p1", "l1", None).await), 200);
        assert_eq!(status(posts.read_item("p1", "l2", None).await), 404);
    }
}

fn statuses(response: BatchResponse) -> Vec<u16> {
    let response = response.into_model().unwrap();
    response.results().iter().map(TransactionalBatchOperationResult::status_code).collect()
}
