use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tributary_local::cosmos::{CosmosEndpoint, EndpointOptions, RunningServer, WELL_KNOWN_KEY};

use crate::raw::{DEADLINE, address, exchange, get, send, serve, token};
use crate::world::{client_of, options};

#[tokio::test]
async fn the_account_advertises_the_address_that_is_listened_on() {
    let server = serve(options()).await;
    let body = get(&server, "/").await.expect(200).body;
    for locations in ["writableLocations", "readableLocations"] {
        assert_eq!(body[locations][0]["databaseAccountEndpoint"], server.url());
    }
    let expected = format!("AccountEndpoint={};AccountKey={WELL_KNOWN_KEY};", server.url());
    assert_eq!(server.connection_string(), expected);
}

#[tokio::test]
async fn a_request_that_is_not_signed_with_the_key_is_unauthorized() {
    let server = serve(options()).await;
    let wrong_key = token("GET", "/dbs", "d3Jvbmc=");
    let wrong_path = token("GET", "/dbs/blog", WELL_KNOWN_KEY);
    let of_entra = "authorization: type%3Daad%26ver%3D1.0%26sig%3Dx\r\n";
    for headers in ["", &wrong_key, &wrong_path, of_entra] {
        let head = format!("GET /dbs HTTP/1.1\r\nhost: localhost\r\n{headers}");
        let answer = exchange(&server, &head, b"").await;
        assert_eq!(answer.expect(401).body["code"], "Unauthorized");
    }
    get(&server, "/dbs").await.expect(200);
}

#[tokio::test]
async fn a_trailing_slash_makes_no_difference() {
    let server = serve(options()).await;
    client_of(&server).await.create_database("blog", None).await.unwrap();
    for path in ["/dbs/blog", "/dbs/blog/", "http://cosmos.localhost/dbs/blog/"] {
        assert_eq!(get(&server, path).await.expect(200).body["id"], "blog", "{path}");
    }
}

#[tokio::test]
async fn a_page_of_another_site_and_a_name_of_another_machine_are_refused() {
    let refused = [
        ("Host: evil.example\r\n", "--allow-host evil.example"),
        ("Host: 127.0.0.1.evil.example:8081\r\n", "this machine"),
        ("Host: localhost\r\nOrigin: https://evil.example\r\n", "https://evil.example"),
        ("Host: localhost\r\nOrigin: null\r\n", "A page of null"),
    ];
    let answered = ["LOCALHOST:80", "[::1]:8081", "127.1.2.3", "a.localhost"];
    let answered = answered.map(|host| format!("Host: {host}\r\n"));
    let own = "Host: localhost:8081\r\nOrigin: http://localhost:8081\r\n".to_owned();
    let ask = async |server: &RunningServer, lines: &str| {
        let token = token("GET", "/dbs", WELL_KNOWN_KEY);
        exchange(server, &format!("GET /dbs HTTP/1.1\r\n{token}{lines}"), b"").await
    };

    let server = serve(options()).await;
    for (lines, named) in refused {
        let answer = ask(&server, lines).await.expect(403);
        let message = answer.body["message"].as_str().unwrap();
        assert!(message.contains(named), "{lines}: {message}");
    }
    for lines in answered.iter().chain([&own]) {
        ask(&server, lines).await.expect(200);
    }
    for (name, of_a_page) in [("evil.example", 403), ("*", 200)] {
        let options = EndpointOptions { allowed_hosts: vec![name.to_owned()], ..options() };
        let server = serve(options).await;
        ask(&server, refused[0].0).await.expect(200);
        ask(&server, refused[2].0).await.expect(of_a_page);
    }
}

#[tokio::test]
async fn a_body_above_the_bound_is_too_large() {
    let server = serve(options()).await;
    let body = vec![b' '; 5 * 1024 * 1024];
    let answer = send(&server, "POST", "/dbs", &[], &body).await.expect(413);
    assert_eq!(answer.body["code"], "RequestEntityTooLarge");
}

#[tokio::test]
async fn nonsense_is_refused_and_the_endpoint_keeps_running() {
    let server = serve(options()).await;
    for (method, path, body) in [
        ("POST", "/dbs", "{"),
        ("POST", "/dbs", "\u{80}\u{0}"),
        ("POST", "/dbs/none/colls", "{}"),
        ("PUT", "/dbs/%FF/colls/%2F", "[]"),
        ("PATCH", "/dbs/a/colls/b/docs/c", "[null"),
        ("POST", "/dbs/a/colls/b/docs", "null"),
        ("PROPFIND", "/", ""),
    ] {
        let status = send(&server, method, path, &[], body.as_bytes()).await.status;
        assert!((400..500).contains(&status) && status != 401, "{method} {path} {status}");
    }
    get(&server, "/").await.expect(200);
}

#[tokio::test]
async fn http2_is_spoken_with_prior_knowledge() {
    const SETTINGS: u8 = 4;
    let server = serve(options()).await;
    let mut stream = TcpStream::connect(address(&server)).await.unwrap();
    let mut preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    preface.extend([0, 0, 0, SETTINGS, 0, 0, 0, 0, 0]);
    stream.write_all(&preface).await.unwrap();

    let mut frame = [0; 9];
    timeout(DEADLINE, stream.read_exact(&mut frame)).await.unwrap().unwrap();
    assert_eq!(frame[3], SETTINGS);
}

#[tokio::test]
async fn a_server_that_is_stopped_or_dropped_frees_its_port() {
    let endpoint = CosmosEndpoint::in_process(options()).unwrap();
    let stopped = endpoint.serve(0).await.unwrap();
    let address_stopped = address(&stopped);
    // An idle connection must not keep the server running.
    let _idle = TcpStream::connect(&address_stopped).await.unwrap();
    timeout(DEADLINE, stopped.stop()).await.unwrap();
    assert!(TcpStream::connect(&address_stopped).await.is_err());

    let dropped = endpoint.serve(0).await.unwrap();
    let address_dropped = address(&dropped);
    drop(dropped);
    timeout(DEADLINE, async {
        while TcpStream::connect(&address_dropped).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
}
