//! Large bodies, and bodies in pieces.

use axum::body::{Body, Bytes};
use custom_handler::{CustomHandler, Documents, InvocationOutcome, MAX_BODY_BYTES};
use futures::stream;
use serde_json::json;

use crate::world::{TestApp, encoded};

const MIB: usize = 1024 * 1024;

fn counting_app() -> TestApp {
    TestApp::new(CustomHandler::new().trigger("Changes", async |documents: Documents| {
        let n_bytes: usize = documents.0.iter().map(|document| document.raw().len()).sum();
        InvocationOutcome::new().output("counts", json!([documents.0.len(), n_bytes]))
    }))
}

fn chunked(chunks: impl IntoIterator<Item = Bytes, IntoIter: Send + 'static>) -> Body {
    let chunks = chunks.into_iter().map(Ok::<_, std::io::Error>);
    Body::from_stream(stream::iter(chunks))
}

#[tokio::test]
async fn a_body_of_8_mib_is_read() {
    let document = json!({ "text": "\\\"é\n".repeat(300) }).to_string();
    let (n_documents, n_bytes) = (4_000, document.len());
    let batch = format!("[{}]", vec![document; n_documents].join(","));
    let body = json!({"Data": {"documents": encoded(&batch)}}).to_string();
    assert!(body.len() >= 8 * MIB && body.len() < MAX_BODY_BYTES, "{}", body.len());
    let body = Bytes::from(body);
    let pieces: Vec<Bytes> = body.chunks(16_381).map(|piece| body.slice_ref(piece)).collect();
    let reply = counting_app().invoke("Changes", chunked(pieces)).await;
    assert_eq!(reply.output("counts"), json!([n_documents, n_documents * n_bytes]));
}

#[tokio::test]
async fn a_body_over_the_limit_is_a_413() {
    let mebibyte = Bytes::from(vec![b' '; MIB]);
    let body = chunked(std::iter::repeat_n(mebibyte, MAX_BODY_BYTES / MIB + 1));
    let reply = counting_app().invoke("Changes", body).await;
    assert!(reply.failure(413).contains("larger than 128 MiB"));
}

#[tokio::test]
async fn a_body_that_breaks_off_fails() {
    let broken = std::io::Error::other("the connection is gone");
    let pieces = [Ok(Bytes::from_static(b"{\"Data\":{}")), Err(broken)];
    let reply = counting_app().invoke("Changes", Body::from_stream(stream::iter(pieces))).await;
    assert!(reply.failure(400).contains("could not be read"));
}
