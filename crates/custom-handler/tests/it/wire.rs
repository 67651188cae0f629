//! The server on a socket.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use custom_handler::{CustomHandler, Documents, InvocationOutcome, MAX_BODY_BYTES};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

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

#[tokio::test]
async fn a_caller_with_too_large_a_body_gets_to_read_the_413() {
    with_server(|address| async move {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let n_bytes = MAX_BODY_BYTES + 1024 * 1024;
        let head = format!(
            "POST /Changes HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\
             Content-Length: {n_bytes}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mebibyte = vec![b' '; 1024 * 1024];
        for _ in 0..n_bytes / mebibyte.len() {
            stream.write_all(&mebibyte).await.unwrap();
        }
        let answer = read_to_end(stream).await;
        assert!(answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"), "{answer}");
    })
    .await;
}
