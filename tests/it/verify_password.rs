use serde_json::{Value, json};

use crate::{
    handler,
    webstore::{self as given, set_password},
};

const RIGHT: &str = "correct horse battery";
const WRONG: &str = "correct horse bathroom";

/// A hash is nearly all of the time that a request takes. So a handler that makes one hash in each
/// case does not reveal by the time that a password exists.
#[tokio::test]
async fn each_verification_takes_one_hash() {
    let world = given::shop().await;
    set_password(&world, "ann", RIGHT).await.expect(204);
    let mut handler = handler::start(&world, &[("RUST_LOG", "debug")]).await;
    let cases =
        [("ann", RIGHT, 204), ("ann", WRONG, 401), ("bob", WRONG, 401), ("eve", WRONG, 401)];
    for (n, (id, password, status)) in cases.into_iter().enumerate() {
        let path = format!("/api/customers/{id}/password/verify");
        let invocation = n.to_string();
        let headers = [
            ("content-type", "application/json"),
            ("x-azure-functions-invocationid", invocation.as_str()),
        ];
        let body = json!({"password": password}).to_string();
        assert_eq!(handler.send("POST", &path, &headers, body).await.status, status, "{id}");
    }
    handler.terminate().await;
    let lines = handler.output();
    let lines = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let hashes = lines.filter(|line| line["message"] == "Hashed a password");
    let mut invocations: Vec<Value> = hashes.map(|line| line["invocation.id"].clone()).collect();
    invocations.sort_by_key(ToString::to_string);
    assert_eq!(invocations, ["0", "1", "2", "3"]);
}
