use super::world_with_dead_letter;
use crate::given::path;

#[tokio::test]
async fn a_dead_letter_has_the_document_and_the_reason() {
    let (world, dead_letter) = world_with_dead_letter("RoomCounts").await;
    let n_before = world.endpoint.request_count();
    let answer = world.get(&path(&dead_letter)).await.expect(200);
    assert_eq!(world.endpoint.request_count() - n_before, 1, "a point read");
    assert!(answer.json()["raw"].as_str().unwrap().contains(r#""type":"poem""#));
    insta::assert_json_snapshot!(answer.json(), {
        ".failedAt" => "[date]", ".raw" => "[document]",
    }, @r#"
    {
      "container": "rooms",
      "documentId": "bad",
      "failedAt": "[date]",
      "function": "RoomCounts",
      "id": "RoomCounts.907a5e2f-d2e9-5145-88d5-2b7990114e5a",
      "invocationId": "an-invocation",
      "partitionKey": "bad",
      "raw": "[document]",
      "rawTruncated": false,
      "reason": "not an item of `rooms`: its `type` is none of this container"
    }
    "#);
}
