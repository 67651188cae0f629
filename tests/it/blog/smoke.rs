use serde_json::json;

use crate::world::World;

#[tokio::test]
async fn smoke() {
    let world = World::new().await;
    let a = world.put("/api/users/ann", json!({"username": "Ann"})).await.expect(201);
    println!("{} {:?}", a.text, a.headers);
    let a = world
        .put("/api/posts/p1", json!({"userId": "ann", "title": "T", "content": "C"}))
        .await
        .expect(201);
    println!("{} {:?}", a.text, a.headers);
    for i in 0..5 {
        let a = world
            .post("/api/posts/p1/comments", json!({"userId": "ann", "content": format!("c{i}")}))
            .await
            .expect(201);
        println!("{} {:?}", a.text, a.headers);
    }
    world.put("/api/posts/p1/likes/ann", json!({})).await.expect(201);
    world.put("/api/posts/p1/likes/ann", json!({})).await.expect(200);
    let a = world.get("/api/posts/p1/comments?limit=2").await.expect(200);
    println!("{}", a.text);
    let next = a.json()["nextCursor"].as_str().unwrap().to_owned();
    let a = world.get(&format!("/api/posts/p1/comments?limit=2&cursor={next}")).await.expect(200);
    println!("{}", a.text);
    println!("{}", world.get("/api/posts/p1/likes").await.expect(200).text);
    println!("{}", world.get("/api/posts/p1").await.expect(200).text);
    println!("{}", world.get("/api/feed").await.expect(200).text);
    println!("{}", world.get("/api/users/ann/posts").await.expect(200).text);
    println!("{}", world.get("/api/users/bob/posts").await.expect(404).text);
    println!("{:?}", world.put("/api/users", json!({})).await);
    world.delete("/api/posts/p1/likes/ann").await.expect(204);
    world.delete("/api/posts/p1").await.expect(204);
    world.get("/api/posts/p1/comments").await.expect(404);
    world.put("/api/users/ann", json!({"username": "Anna"})).await.expect(200);
    world.put("/api/users/bob", json!({"username": "ANN"})).await.expect(201);
    world.put("/api/users/bob", json!({"username": "aNNa"})).await.expect(409);
    for request in world.endpoint.requests() {
        println!("{request:?}");
    }
}
