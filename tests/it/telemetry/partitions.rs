//! The line on the use of logical partitions.

use serde_json::{Value, json};

use crate::blog as given;
use crate::handler;

const LINE: &str = "Measured the use of logical partitions";

/// XXH64 of `p1`, with the seed 0.
const P1: &str = "f9f6e599881a3e1c";

/// The lines of a handler that was asked for the post `p1` three times, for its comments and for all
/// dead letters, by container.
async fn lines(settings: &[(&str, &str)]) -> Vec<Value> {
    let world = given::blog().await;
    let mut handler = handler::start(&world, settings).await;
    for _ in 0..3 {
        assert_eq!(handler.send("GET", "/api/posts/p1", &[], "").await.status, 200);
    }
    for path in ["/api/posts/none", "/api/posts/p1/comments", "/api/dead-letters"] {
        handler.send("GET", path, &[], "").await;
    }
    handler.terminate().await;
    let lines = handler.output().into_iter().filter(|line| line.contains(LINE));
    lines.map(|line| serde_json::from_str(&line).unwrap()).collect()
}

fn of<'a>(lines: &'a [Value], container: &str) -> &'a Value {
    lines.iter().find(|line| line["container"] == container).unwrap()
}

#[tokio::test]
async fn the_hottest_partition_is_named_by_the_hash_of_its_key() {
    let lines = lines(&[]).await;
    let posts = of(&lines, "posts");
    for (field, value) in [
        ("store.requests", json!(6)),
        ("store.throttled", json!(0)),
        ("store.queries", json!(1)),
        ("store.cross_partition_queries", json!(0)),
        ("partitions", json!(2)),
        ("partitions.hottest", json!(P1)),
        ("partitions.error_ru", json!(0.0)),
    ] {
        assert_eq!(posts[field], value, "{field} in {posts}");
    }
    let top: Value = serde_json::from_str(posts["partitions.top"].as_str().unwrap()).unwrap();
    assert_eq!((&top[0][0], &top[0][2]), (&json!(P1), &json!(4)), "{posts}");
    let [hottest, all] =
        ["partitions.hottest_ru", "request_charge_ru"].map(|field| posts[field].as_f64().unwrap());
    assert_eq!(top[0][1], hottest);
    assert!(all / 2.0 < hottest && hottest < all, "{posts}");
    let gini = (hottest - all / 2.0) / all;
    assert!((posts["partitions.gini"].as_f64().unwrap() - gini).abs() < 0.01, "{posts}");
    assert!(!posts.to_string().contains("\"p1\""), "{posts}");

    // A query of all partitions.
    let letters = of(&lines, "dead-letters");
    assert_eq!(letters["store.queries"], json!(1), "{letters}");
    assert_eq!(letters["store.cross_partition_queries"], json!(1), "{letters}");
    assert_eq!(letters["partitions"], json!(0), "its request units belong to no partition");
}

#[tokio::test]
async fn no_partition_is_measured_if_the_setting_forbids_it() {
    assert_eq!(lines(&[("Log__PartitionKeys", "off")]).await, Vec::<Value>::new());
}
