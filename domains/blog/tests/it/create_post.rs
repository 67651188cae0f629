//! C2: `POST /posts`.

use serde_json::json;

use super::given;
use crate::{
    expect::{bad_fields, charged, created, date, free_of_charge, new_id, problem},
    world::World,
};

#[tokio::test]
async fn a_new_post_gets_an_id_and_is_found_at_its_location() {
    let world = given::blog().await;
    let body = json!({"userId": "ann", "title": "Title", "content": "Content"});
    let answer = world.post("/api/posts", body).await;
    let id = answer.json()["id"].clone();
    let post = created(&world, &answer, &format!("/api/posts/{}", id.as_str().unwrap())).await;
    assert_eq!(post["postId"], id);
    insta::assert_json_snapshot!(post, {
        ".id" => new_id(), ".postId" => new_id(), ".creationDate" => date(),
    }, @r#"
    {
      "commentCount": 0,
      "content": "Content",
      "creationDate": "[date]",
      "id": "[new id]",
      "likeCount": 0,
      "postId": "[new id]",
      "title": "Title",
      "userId": "ann",
      "userUsername": "Ann"
    }
    "#);
}

#[tokio::test]
async fn two_posts_of_the_same_text_are_two() {
    let world = given::blog().await;
    let body = json!({"userId": "ann", "title": "Title", "content": "Content"});
    let first = world.post("/api/posts", body.clone()).await.expect(201).json();
    let second = world.post("/api/posts", body).await.expect(201).json();
    assert_ne!(first["id"], second["id"]);
}

#[tokio::test]
async fn the_server_sets_the_fields_that_it_owns() {
    let world = given::blog().await;
    let body = json!({
        "userId": "ann", "title": "T", "content": "C", "id": "mine", "postId": "mine",
        "userUsername": "Eve", "commentCount": 7, "likeCount": -1, "version": "x", "type": "user",
        "creationDate": "2001-01-01T00:00:00.000Z", "unknown": [[[]]],
    });
    let post = world.post("/api/posts", body).await.expect(201).json();
    assert_eq!(post["postId"], post["id"]);
    assert_eq!((&post["commentCount"], &post["likeCount"]), (&json!(0), &json!(0)));
    assert_eq!(post["userUsername"], "Ann");
    assert!(post["creationDate"].as_str().unwrap() > "2020");
    world.get("/api/posts/mine").await.expect(404);
}

#[tokio::test]
async fn an_unknown_author_is_not_found() {
    let world = given::blog().await;
    let body = json!({"userId": "nobody", "title": "T", "content": "C"});
    let answer = world.post("/api/posts", body).await;
    problem(&answer, 404);
    charged(&answer);
}

#[tokio::test]
async fn all_bad_fields_are_reported_at_once() {
    let world = World::new().await;
    for (body, fields) in [
        (json!({}), vec!["content", "title", "userId"]),
        (json!({"userId": "-", "title": "", "content": ""}), vec!["content", "title", "userId"]),
        (json!({"userId": 1, "title": [], "content": null}), vec!["content", "title", "userId"]),
        (json!({"userId": "a b", "title": "T"}), vec!["content", "userId"]),
        (json!({"userId": "ann", "title": "T", "content": {}}), vec!["content"]),
        (json!({"userId": "ann", "content": "C"}), vec!["title"]),
        (json!({"title": "T", "content": "C"}), vec!["userId"]),
    ] {
        let answer = world.post("/api/posts", body.clone()).await;
        assert_eq!(bad_fields(&answer), fields, "{body}");
        free_of_charge(&answer);
    }
}

#[tokio::test]
async fn a_title_has_1_to_200_code_points() {
    let world = given::blog().await;
    let post = |title: String| {
        let body = json!({"userId": "ann", "title": title, "content": "C"});
        async { world.post("/api/posts", body).await }
    };
    for title in ["x".into(), "é".repeat(200), "😀".repeat(200)] {
        assert_eq!(post(title.clone()).await.expect(201).json()["title"], title);
    }
    for title in [String::new(), "é".repeat(201), "e\u{301}".repeat(101)] {
        assert_eq!(bad_fields(&post(title).await), ["title"]);
    }
}

#[tokio::test]
async fn a_content_has_1_byte_to_512_kib() {
    let world = given::blog().await;
    let post = |content: String| {
        let body = json!({"userId": "ann", "title": "T", "content": content});
        async { world.post("/api/posts", body).await }
    };
    for content in ["x".into(), "y".repeat(512 * 1024), "é".repeat(256 * 1024)] {
        let answer = post(content.clone()).await.expect(201);
        assert!(answer.json()["content"] == content);
        let there = world.get(answer.header("location")).await.expect(200);
        assert!(there.json()["content"] == content);
    }
    for content in [String::new(), "y".repeat(512 * 1024 + 1), "é".repeat(256 * 1024) + "x"] {
        assert_eq!(bad_fields(&post(content).await), ["content"]);
    }
}

#[tokio::test]
async fn the_author_id_may_be_128_characters_and_no_more() {
    let world = given::blog().await;
    let longest = "a".repeat(128);
    let too_long = "a".repeat(129);
    let body = |id: &str| json!({"userId": id, "title": "T", "content": "C"});
    problem(&world.post("/api/posts", body(&longest)).await, 404);
    assert_eq!(bad_fields(&world.post("/api/posts", body(&too_long)).await), ["userId"]);
}

#[tokio::test]
async fn texts_come_back_as_they_were_sent() {
    let world = given::blog().await;
    for text in ["2026-11-21T09:25:54.120Z", " spaces ", "\u{0}\u{1f}\u{7f}", "\"\\/\u{2028}", "👨‍👩‍👧"]
    {
        let body = json!({"userId": "ann", "title": text, "content": text});
        let answer = world.post("/api/posts", body).await.expect(201);
        let there = world.get(answer.header("location")).await.expect(200).json();
        assert_eq!((&there["title"], &there["content"]), (&json!(text), &json!(text)));
    }
}
