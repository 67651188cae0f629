//! Answers that are ready before the body was read: the body is read first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request as AnyRequest;
use axum::http::{Request, StatusCode};
use axum::routing::post;
use custom_handler::{CustomHandler, Documents};
use futures::{StreamExt as _, stream};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt as _;

const PIECE: usize = 64 * 1024;
const PIECES: usize = 20;

fn app() -> CustomHandler {
    let http = Router::new()
        .route("/api/read", post(async |body: Bytes| body.len().to_string()))
        .route("/api/refuse", post(async |_: AnyRequest| StatusCode::UNSUPPORTED_MEDIA_TYPE))
        .route("/api/begin", post(begin))
        .route("/api/panic", post(async |_: AnyRequest| -> () { panic!("on purpose") }));
    CustomHandler::new().http(http).trigger("Changes", async |_: Documents| {})
}

async fn begin(request: AnyRequest) -> StatusCode {
    match to_bytes(request.into_body(), PIECE + 1).await {
        Ok(_) => StatusCode::OK,
        Err(_) => StatusCode::PAYLOAD_TOO_LARGE,
    }
}

/// Returns a body in pieces, and the number of pieces that were read.
fn counted(pieces: usize) -> (Body, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let count = read.clone();
    let piece = Bytes::from(vec![b'x'; PIECE]);
    let all = stream::repeat_with(move || {
        count.fetch_add(1, Ordering::Relaxed);
        Ok::<_, std::io::Error>(piece.clone())
    });
    (Body::from_stream(all.take(pieces)), read)
}

#[tokio::test]
async fn no_answer_goes_out_before_the_body_was_read() {
    for (method, path, status) in [
        ("POST", "/api/read", 200),
        ("POST", "/api/nowhere", 404),
        ("PATCH", "/api/read", 405),
        ("POST", "/api/refuse", 415),
        ("POST", "/api/begin", 413),
        ("POST", "/api/panic", 500),
        ("POST", "/NoSuchFunction", 404),
        ("POST", "/Changes", 400),
        ("GET", "/", 200),
    ] {
        let (body, read) = counted(PIECES);
        let request = Request::builder().method(method).uri(path).body(body).unwrap();
        let answer = app().into_router().unwrap().oneshot(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{method} {path}");
        assert_eq!(read.load(Ordering::Relaxed), PIECES, "{method} {path}");
    }
}

#[tokio::test]
async fn a_body_without_end_is_not_read_for_ever() {
    let (body, read) = counted(usize::MAX);
    let request = Request::post("/api/nowhere").body(body).unwrap();
    let answer = app().into_router().unwrap().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    let read = read.load(Ordering::Relaxed) * PIECE;
    assert!(read > 210_000_000 && read < 300_000_000, "{read} bytes were read");
}

/// Sends like the Functions host: the whole request, and only then it reads the answer. The connection
/// then takes another request.
#[tokio::test]
async fn over_a_socket_the_whole_body_can_be_sent_before_the_answer_is_read() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(app().serve_on(listener, std::future::pending()));
    let mut connection = TcpStream::connect(address).await.unwrap();
    for (path, status) in
        [("/api/nowhere", b"404"), ("/api/refuse", b"415"), ("/api/begin", b"413")]
    {
        let n_bytes = PIECES * PIECE;
        let head = format!("POST {path} HTTP/1.1\r\nhost: h\r\ncontent-length: {n_bytes}\r\n\r\n");
        connection.write_all(head.as_bytes()).await.unwrap();
        for _ in 0..PIECES {
            // More than fits into the buffers of a socket, so it waits for the reader.
            connection.write_all(&vec![b'x'; PIECE]).await.unwrap();
        }
        assert_eq!(&status_of_answer(&mut connection).await, status, "{path}");
    }
    // A length beyond the limit is not awaited.
    let head = "POST /api/nowhere HTTP/1.1\r\nhost: h\r\ncontent-length: 999999999999\r\n\r\n";
    connection.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(&status_of_answer(&mut connection).await, b"404");
}

/// Reads an answer without a body.
async fn status_of_answer(connection: &mut TcpStream) -> [u8; 3] {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(connection.read_u8().await.unwrap());
    }
    answer["HTTP/1.1 ".len()..][..3].try_into().unwrap()
}
