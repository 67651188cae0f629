//! Bodies in pieces that do not end well.

use axum::body::{Body, Bytes};
use custom_handler::MAX_BODY_BYTES;
use futures::stream;

use crate::world::{AppReply, TestApp};

async fn reply<P>(pieces: P) -> AppReply
where
    P: IntoIterator<Item = std::io::Result<Bytes>, IntoIter: Send + 'static>,
{
    let body = Body::from_stream(stream::iter(pieces));
    TestApp::echoing_documents().invoke("Changes", body).await
}

#[tokio::test]
async fn a_body_over_the_limit_is_a_413() {
    let piece = Bytes::from(vec![b' '; 1024 * 1024]);
    let n_pieces = MAX_BODY_BYTES / piece.len() + 1;
    let reply = reply(std::iter::repeat_n(piece, n_pieces).map(Ok)).await;
    assert!(reply.failure(413).contains("larger than 128 MiB"));
}

#[tokio::test]
async fn a_body_that_breaks_off_fails() {
    let broken = std::io::Error::other("the connection is gone");
    let reply = reply([Ok(Bytes::from_static(b"{\"Data\":{}")), Err(broken)]).await;
    assert!(reply.failure(400).contains("could not be read"));
}
