//! The page at `/` and the costs that it shows, through the stand-in for the Functions host.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::hosted::Hosted;

#[tokio::test]
async fn the_pages_and_their_files_come_through_the_host() {
    let hosted = Hosted::with(&[]).await;
    let page = hosted.get("/").await.expect(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.header("content-security-policy").starts_with("default-src 'none';"));
    let (_, rest) = page.text.split_once("src=\"page/").unwrap();
    let (version, _) = rest.split_once('/').unwrap();
    let script = hosted.get(&format!("/page/{version}/main.js")).await.expect(200);
    assert_eq!(script.header("cache-control"), "public, max-age=31536000, immutable");
    // The app names all files of the folder.
    for file in std::fs::read_dir("src/page").unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        hosted.get(&format!("/page/{version}/{name}")).await.expect(200);
    }
    hosted.get(&format!("/page/{version}/none.js")).await.expect(404);
    // One route more opens no other: a trigger has the path of its function.
    for path in ["/HomeFeed", "/page", "/index.html"] {
        hosted.get(path).await.expect(404);
    }
    hosted.put("/", &json!({})).await.expect(204);

    // The page of the API, with its viewer.
    let page = hosted.get("/api/docs").await.expect(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let (_, rest) = page.text.split_once("src=\"docs/").unwrap();
    let (version, _) = rest.split_once('/').unwrap();
    // The host's client takes no gzip, so the handler has read the whole file.
    let viewer = hosted.get(&format!("/api/docs/{version}/swagger-ui-bundle.js")).await.expect(200);
    assert!(viewer.text.len() > 1_000_000, "{}", viewer.text.len());
    assert_eq!(viewer.header("cache-control"), "public, max-age=31536000, immutable");
    hosted.get(&format!("/api/docs/{version}/none.js")).await.expect(404);
    let document: Value = hosted.get("/api/openapi.json").await.expect(200).json();
    let operation = &document["paths"]["/api/posts/{postId}/comments"]["post"];
    assert!(operation["summary"].as_str().unwrap().starts_with("C3: 2 store requests, "));
    for status in ["400", "401", "404", "409", "413", "429", "503"] {
        assert!(operation["responses"][status].is_object(), "{status}: {operation}");
    }
    hosted.host.stop().await;
}

#[tokio::test]
async fn recent_costs_name_a_command_and_the_batches_that_carry_its_write_on() {
    let settings = [("Costs__Recent", "true"), ("Projections__EagerMilliseconds", "2000")];
    let hosted = Hosted::with(&settings).await;
    hosted.put("/api/users/ann", &json!({"username": "Ann"})).await.expect(201);
    let before: Value = hosted.get("/api/costs").await.expect(200).json();
    let path = format!("/api/costs?after={}", before["last"]);
    let records = async |function: &str| -> Vec<Value> {
        let costs: Value = hosted.get(&path).await.expect(200).json();
        let items = costs["items"].as_array().unwrap().iter();
        items.filter(|item| item["function"] == function).cloned().collect()
    };
    let started = Instant::now();
    let in_time = || assert!(started.elapsed() < Duration::from_mins(1));
    let mut posts = 0;
    // The eager projection has read its state, and written the copy of the author. On a busy machine its time may
    // be over first, and then the next command is the example.
    let command = loop {
        in_time();
        posts += 1;
        let post = format!("p{posts}");
        let body = json!({"userId": "ann", "title": "A title", "content": "A content"});
        hosted.put(&format!("/api/posts/{post}"), &body).await.expect(201);
        let command = records("PutPost").await.pop().unwrap();
        let partitions = command["partitions"].as_array().unwrap();
        assert_eq!(partitions[0]["key"], post);
        if partitions.last().unwrap()["key"] == "ann" {
            break command;
        }
    };
    let route = json!({"method": "PUT", "route": "/api/posts/{postId}", "status": 201});
    assert_eq!(command["request"], route);
    assert!(command["requestUnits"].as_f64().unwrap() > 5.0, "{command}");
    let written = &command["written"][0];
    assert_eq!(written["container"], "posts");
    let feed = loop {
        in_time();
        let batches = records("HomeFeed").await;
        let applied = batches.iter().filter_map(|item| item["batch"]["applied"].as_u64());
        if applied.sum::<u64>() == posts {
            break batches.last().unwrap().clone();
        }
        sleep(Duration::from_millis(50)).await;
    };
    assert_eq!(feed["batch"]["container"], "posts");
    assert!(feed["batch"]["lsn"].as_u64() >= written["lsn"].as_u64(), "{command} {feed}");
    assert!(feed["batch"]["lsn"].is_u64(), "{feed}");
    hosted.host.stop().await;
}
