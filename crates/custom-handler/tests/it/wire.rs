//! The server on a socket, large bodies and bodies in pieces.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use custom_handler::{CustomHandler, Documents, InvocationOutcome, MAX_BODY_BYTES};
use futures::stream;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::world::{TestApp, encoded};

const DEADLINE: Duration = Duration::from_mins(1);

/// Serves the app while the client runs, and shows that it stops in order afterwards.
async fn with_server<F: Future<Output = ()>>(client: impl FnOnce(SocketAddr) -> F) {
    let app = CustomHandler::new().trigger("Changes", async |documents: Documents| {
        InvocationOutcome::new().return_value(documents.0.len())
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async { stopped.await.unwrap_or_default() };
    let server = tokio::spawn(app.serve_on(listener, shutdown));
    timeout(DEADLINE, client(address)).await.unwrap();
    stop.send(()).unwrap();
    timeout(DEADLINE, server).await.unwrap().unwrap().unwrap();
}

async fn read_to_end(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test]
async fn a_chunked_invocation_is_answered() {
    with_server(|address| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = "POST /Changes HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
                    Content-Type: application/json; charset=utf-8\r\n\
                    Transfer-Encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        for piece in [r#"{"Data":{"documents":"[{}"#, ",{},{}]", r#""}}"#] {
            let chunk = format!("{:x}\r\n{piece}\r\n", piece.len());
            stream.write_all(chunk.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
        stream.write_all(b"0\r\n\r\n").await.unwrap();
        let answer = read_to_end(stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.ends_with(r#"{"Outputs":{},"Logs":[],"ReturnValue":3}"#), "{answer}");
    })
    .await;
}

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
    let text = "\\\"é\n".repeat(300);
    let document = json!({ "text": text }).to_string();
    let n_bytes = document.len();
    let escaped = encoded(&encoded(&document)).len() - 6;
    let n_documents = 8 * MIB / escaped + 1;
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
