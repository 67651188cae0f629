use serde_json::{Value, json};

use crate::world::World;

async fn world_with_a_post() -> World {
    let world = World::new().await;
    world.put("/api/users/ann", json!({"username": "Ann"})).await.expect(201);
    let post = json!({"userId": "ann", "title": "T", "content": "C"});
    world.put("/api/posts/p", post).await.expect(201);
    world
}

#[tokio::test]
async fn an_item_created_under_an_old_name_during_a_rename_gets_the_new_name() {
    let world = world_with_a_post().await;
    // The second instance has just seen Ann and remembers her name.
    let second = world.second_instance().await;
    let comment = json!({"userId": "ann", "content": "Before"});
    second.post("/api/posts/p/comments", comment).await.expect(201);
    world.put("/api/users/ann", json!({"username": "Anna"})).await.expect(200);
    world.settle().await;

    let comment = json!({"userId": "ann", "content": "After"});
    let late = second.post("/api/posts/p/comments", comment).await.expect(201).json();
    let post = json!({"userId": "ann", "title": "T", "content": "C"});
    let late_post = second.put("/api/posts/q", post).await.expect(201).json();
    let [like, other_like] = ["p", "q"].map(|post| format!("/api/posts/{post}/likes/ann"));
    let like = second.put(&like, Value::Null).await.expect(201).json();
    let other_like = second.put(&other_like, Value::Null).await.expect(201).json();
    for item in [late, late_post, like, other_like] {
        assert_eq!(item["userUsername"], "Ann", "else this test shows nothing");
    }
    world.settle().await;

    for list in ["posts/p/comments", "posts/p/likes", "posts/q/likes", "users/ann/posts"] {
        for item in world.list(&format!("/api/{list}")).await {
            assert_eq!(item["userUsername"], "Anna", "{list}: {item}");
        }
    }
    assert_eq!(world.get("/api/posts/q").await.expect(200).json()["userUsername"], "Anna");
}

#[tokio::test]
async fn a_late_delivery_of_a_delete_spares_the_comments_of_the_next_post_with_that_id() {
    let world = world_with_a_post().await;
    let comment = json!({"userId": "ann", "content": "Old"});
    world.post("/api/posts/p/comments", comment).await.expect(201);
    world.delete("/api/posts/p").await.expect(204);
    let tombstone =
        world.items("posts").await.into_iter().find(|i| i["type"] == "deletedPost").unwrap();

    let post = json!({"userId": "ann", "title": "Again", "content": "C"});
    let created = world.put("/api/posts/p", post).await.expect(201).json();
    assert_eq!((&created["commentCount"], &created["likeCount"]), (&json!(0), &json!(0)));
    let comment = json!({"userId": "ann", "content": "New"});
    world.post("/api/posts/p/comments", comment).await.expect(201);
    for function in ["PostsIntegrity", "PostCopiesInUsers", "HomeFeed"] {
        world.deliver(function, std::slice::from_ref(&tombstone)).await.unwrap();
    }
    world.settle().await;
    for function in ["PostsIntegrity", "PostCopiesInUsers", "HomeFeed"] {
        world.deliver(function, std::slice::from_ref(&tombstone)).await.unwrap();
    }

    let comments = world.list("/api/posts/p/comments").await;
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0]["content"], "New");
    assert_eq!(world.list("/api/users/ann/posts").await[0]["title"], "Again");
    assert_eq!(world.get("/api/feed").await.json()["items"][0]["commentCount"], 1);
}

#[tokio::test]
async fn a_name_is_not_written_to_the_post_of_another_user_with_the_same_id() {
    let world = world_with_a_post().await;
    world.put("/api/users/bob", json!({"username": "Bob"})).await.expect(201);
    let anns = world.items("posts").await;
    world.delete("/api/posts/p").await.expect(204);
    let post = json!({"userId": "bob", "title": "T", "content": "C"});
    world.put("/api/posts/p", post).await.expect(201);
    world.put("/api/users/ann", json!({"username": "Anna"})).await.expect(200);
    world.deliver("PostsIntegrity", &anns).await.unwrap();
    world.settle().await;
    assert_eq!(world.get("/api/posts/p").await.expect(200).json()["userUsername"], "Bob");
}
