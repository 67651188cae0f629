//! Thousands of random requests: none makes the app fail.

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Method, Request, Uri},
};
use futures::{FutureExt, future::join_all};
use serde_json::{Value, json};

use crate::expect::parse_problem;
use crate::{blog as given, hosted::Hosted, world::Answer};

/// Worlds that are used at once, each with few enough items to stay quick.
const N_WORLDS: usize = 3;

const N_REQUESTS: usize = 1_000;

/// Set it to the seed that a failure has printed, to see the failure again.
const SEED: &str = "TRIBUTARY_SEED";

#[tokio::test(flavor = "multi_thread")]
async fn no_request_makes_the_app_fail() {
    let seed = std::env::var(SEED).map_or_else(|_| fresh_seed(), |text| text.parse().unwrap());
    println!("{SEED}={seed}");
    let worlds = (0..N_WORLDS).map(|n| tokio::spawn(send_many(seed, n)));
    let mut statuses = BTreeMap::new();
    for seen in join_all(worlds).await {
        for (status, n) in seen.expect("a request made the app fail; see above") {
            *statuses.entry(status).or_insert(0) += n;
        }
    }
    println!("{statuses:?}");
    // A generator whose requests are all refused, or all taken, would show little.
    let sent: usize = statuses.values().sum();
    assert!(sent > N_WORLDS * N_REQUESTS * 9 / 10, "{statuses:?}");
    assert!(statuses.range(200..300).map(|(_, n)| n).sum::<usize>() > sent / 5, "{statuses:?}");
    for status in [200, 201, 204, 400, 404, 405, 409, 412, 413, 415] {
        assert!(statuses.contains_key(&status), "no {status} in {statuses:?}");
    }
}

const N_HOSTED: usize = 60;
const N_CLIENTS: usize = 4;

/// The host answers early where the handler does, and repeats what it may: the answers stay right.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_makes_the_app_fail_behind_the_host() {
    let seed = std::env::var(SEED).map_or_else(|_| fresh_seed(), |text| text.parse().unwrap());
    println!("{SEED}={seed}");
    let hosted = Arc::new(Hosted::blog().await);
    let clients = (0..N_CLIENTS).map(|number| {
        let hosted = hosted.clone();
        tokio::spawn(async move {
            let mut random = Random::new(seed, 100 + number);
            let mut answered = 0;
            for _ in 0..N_HOSTED {
                let mut sent = random.request();
                // These headers belong to the connection, and its client writes them.
                let of_connection = ["content-length", "transfer-encoding", "expect"];
                sent.headers.retain(|(name, _)| !of_connection.contains(name));
                let Some(request) = sent.build() else { continue };
                let Some(answer) = hosted.send(request).await else { continue };
                // The host's own answers are empty.
                let is_of_host = answer.text.is_empty()
                    && matches!(answer.status.as_u16(), 400 | 404 | 414 | 431);
                if !is_of_host && let Err(why) = check(&sent, &answer) {
                    panic!("{why}: {answer:#?}\n{SEED}={seed}: {sent:#?}");
                }
                answered += 1;
            }
            answered
        })
    });
    let answered: Vec<usize> = join_all(clients).await.into_iter().map(Result::unwrap).collect();
    assert!(answered.iter().sum::<usize>() > N_CLIENTS * N_HOSTED * 8 / 10, "{answered:?}");
}

async fn send_many(seed: u64, world_number: usize) -> BTreeMap<u16, usize> {
    let world = given::blog().await;
    let mut random = Random::new(seed, world_number);
    let mut statuses = BTreeMap::new();
    for n in 0..N_REQUESTS {
        let sent = random.request();
        let Some(request) = sent.build() else { continue };
        let told = || format!("{SEED}={seed}, world {world_number}, request {n}: {sent:#?}");
        let answer = AssertUnwindSafe(world.send(request)).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_| panic!("the app panicked: {}", told()));
        if let Err(why) = check(&sent, &answer) {
            panic!("{why}: {answer:#?}\n{}", told());
        }
        *statuses.entry(answer.status.as_u16()).or_insert(0) += 1;
    }
    statuses
}

fn check(sent: &Sent, answer: &Answer) -> Result<(), String> {
    let is_empty = answer.text.is_empty();
    match answer.status.as_u16() {
        _ if sent.method == Method::HEAD => {
            if is_empty {
                Ok(())
            } else {
                Err("a HEAD with a body".into())
            }
        }
        204 | 304 if is_empty => Ok(()),
        200 | 201 => match serde_json::from_str::<Value>(&answer.text) {
            Ok(_) if answer.header("content-type") == "application/json" => Ok(()),
            _ => Err("a success that is not JSON".into()),
        },
        400..=499 => parse_problem(answer).map(drop),
        status => Err(format!("an answer with status {status}")),
    }
}

fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos().into()
}

/// A request before it is built, so that it can be shown whole.
#[derive(Debug)]
struct Sent {
    method: Method,
    uri: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
}

impl Sent {
    /// `None` when no client could send it either.
    fn build(&self) -> Option<Request<Body>> {
        let mut request = Request::new(Body::from(self.body.clone()));
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self.uri.parse::<Uri>().ok()?;
        for (name, value) in &self.headers {
            let value = HeaderValue::from_bytes(value).ok()?;
            request.headers_mut().append(HeaderName::from_static(name), value);
        }
        Some(request)
    }
}

/// The generator, with what requests are made of.
struct Random(tributary_local::chaos::Random);

impl Random {
    fn new(seed: u64, stream: usize) -> Self {
        Self(tributary_local::chaos::Random::stream(seed, stream as u64))
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.index(n)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn bytes(&mut self, max: usize) -> Vec<u8> {
        (0..self.below(max + 1)).map(|_| self.below(256).to_le_bytes()[0]).collect()
    }

    fn text(&mut self, max: usize) -> String {
        let letters: Vec<char> = "aZ0 \"\\\n\0é\u{301}€😀/%".chars().collect();
        (0..self.below(max + 1)).map(|_| self.pick(&letters)).collect()
    }

    fn request(&mut self) -> Sent {
        let (method, path) = self.route();
        let query = if self.one_in(3) { self.query() } else { String::new() };
        let mut headers = self.headers();
        let takes_body = matches!(method, Method::POST | Method::PUT);
        let body = if takes_body || self.one_in(10) { self.body() } else { Vec::new() };
        if takes_body && !self.one_in(12) {
            headers.push(("content-type", b"application/json".to_vec()));
        }
        Sent { method, uri: format!("{path}{query}"), headers, body }
    }

    /// Returns a route with its own method as a rule, and sometimes anything else.
    fn route(&mut self) -> (Method, String) {
        const ROUTES: [(&str, &str); 19] = [
            ("POST", "users"),
            ("PUT", "users/{user}"),
            ("GET", "users/{user}"),
            ("GET", "users/{user}/posts"),
            ("POST", "posts"),
            ("PUT", "posts/{post}"),
            ("PUT", "posts/{post}"),
            ("PUT", "posts/{post}"),
            ("GET", "posts/{post}"),
            ("DELETE", "posts/{post}"),
            ("GET", "feed"),
            ("POST", "posts/{post}/comments"),
            ("GET", "posts/{post}/comments"),
            ("GET", "posts/{post}/comments/{comment}"),
            ("DELETE", "posts/{post}/comments/{comment}"),
            ("PUT", "posts/{post}/likes/{user}"),
            ("GET", "posts/{post}/likes/{user}"),
            ("DELETE", "posts/{post}/likes/{user}"),
            ("GET", "posts/{post}/likes"),
        ];
        let (method, route) = self.pick(&ROUTES);
        let mut path = String::from("/api");
        for segment in route.split('/') {
            path.push('/');
            path.push_str(&match segment {
                "{user}" => self.segment(&["ann", "ann", "bob", "bob", "nobody", "u1"]),
                "{post}" => self.segment(&["p1", "p1", "p1", "p1", "p2", "none"]),
                "{comment}" => self.segment(&["c1", "p1", "0190163d-8694-739b-aea5-966c26f8ad90"]),
                fixed => fixed.to_owned(),
            });
        }
        if self.one_in(40) {
            path = path
                .replace("/api/", self.pick(&["/api//", "/API/", "/", "/api/../api/", "/api/x/"]));
        }
        if self.one_in(40) {
            path.push_str(self.pick(&["/", "//", "/..", "/x", ";v=1", "%00"]));
        }
        if self.one_in(12) {
            let methods = [
                "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "CONNECT",
                "X-!",
            ];
            return (self.pick(&methods).parse().unwrap(), path);
        }
        (method.parse().unwrap(), path)
    }

    /// Returns a good value as a rule, and otherwise one that is bad, odd or very long.
    fn segment(&mut self, good: &[&str]) -> String {
        const ODD: &str = "- . .. %2e%2e %2F like:ann ~head a%20b %00 % %zz é %C3%A9 %FF %ED%A0%80";
        if !self.one_in(5) {
            return self.pick(good).to_owned();
        }
        match self.below(4) {
            0 => self.pick(&ODD.split(' ').collect::<Vec<_>>()).to_owned(),
            1 => "x".repeat(self.pick(&[127, 128, 129, 1_000, 20_000])),
            2 => percent_encode(&self.bytes(20)),
            _ => percent_encode(self.text(20).as_bytes()),
        }
    }

    fn query(&mut self) -> String {
        const ODD: &str = "limit= limit=-1 limit=1e3 limit=9999999999 limit=%00 limit=+5 code=x = \
                           & limit cursor a=b=c %=% limit=1&limit=2";
        let pair = |random: &mut Self| match random.below(5) {
            0 => format!("limit={}", random.below(103)),
            1 => format!("cursor={}", percent_encode(&random.bytes(60))),
            2 => format!("cursor={}", random.cursor()),
            3 => percent_encode(&random.bytes(30)),
            _ => random.pick(&ODD.split(' ').collect::<Vec<_>>()).to_owned(),
        };
        let pairs: Vec<String> = (0..=self.below(3)).map(|_| pair(self)).collect();
        format!("?{}", pairs.join("&"))
    }

    /// Cursors as the app makes them, with odd insides.
    fn cursor(&mut self) -> String {
        use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
        let path =
            self.pick(&["/api/posts/p1/comments", "/api/posts/p1/likes", "/api/users/ann/posts"]);
        let date = self.pick(&["2026-11-21T09:25:54.120Z", "9999-12-31T23:59:59-23:59", "x"]);
        let cursor = match self.below(3) {
            0 => json!([path, [date, self.text(20)]]),
            1 => json!([path, [date, "x".repeat(self.below(2_000))]]),
            _ => json!([path, self.json(3)]),
        };
        BASE64_URL_SAFE_NO_PAD.encode(cursor.to_string())
    }

    fn headers(&mut self) -> Vec<(&'static str, Vec<u8>)> {
        const NAMES: [&str; 10] = [
            "if-match",
            "if-none-match",
            "if-match",
            "if-none-match",
            "idempotency-key",
            "content-type",
            "content-length",
            "expect",
            "transfer-encoding",
            "x-junk",
        ];
        const VALUES: [&[u8]; 10] =
            [b"*", b"\"0\"", b"W/\"0\"", b"", b",", b"\"", b"\xff", b"a b", b"text/plain", b";"];
        let mut headers = Vec::new();
        while self.one_in(3) {
            let value = match self.below(4) {
                0 => self.bytes(30),
                1 => vec![b'k'; self.below(600)],
                _ => self.pick(&VALUES).to_vec(),
            };
            headers.push((self.pick(&NAMES), value));
        }
        headers
    }

    fn body(&mut self) -> Vec<u8> {
        match self.below(40) {
            0 => self.bytes(200),
            1 | 2 => self.json(4).to_string().into_bytes(),
            3 => self
                .pick(&["[", "{\"a\":", "\"", "[[{\"a\":["])
                .repeat(self.below(3_000))
                .into_bytes(),
            4 => self
                .pick(&[
                    "1e999",
                    "{\"username\":123456789012345678901234567890}",
                    "{\"a\":\"\\ud800\"}",
                ])
                .into(),
            5 if self.one_in(2) => vec![b' '; 1024 * 1024 + self.below(3)],
            5..=12 => {
                let mut body = self.good_body().to_string().into_bytes();
                for _ in 0..=self.below(3) {
                    let at = self.below(body.len());
                    match self.below(3) {
                        0 => body[at] = self.below(256).to_le_bytes()[0],
                        1 => body.truncate(at.max(1)),
                        _ => body.insert(at, self.pick(b"{}[]\",:\\0e-\x00\xff")),
                    }
                }
                body
            }
            13..=18 => {
                let mut body = self.good_body();
                let field = self.pick(&["username", "userId", "title", "content"]);
                body[field] = self.json(3);
                body.to_string().into_bytes()
            }
            _ => self.good_body().to_string().into_bytes(),
        }
    }

    /// A body that all routes take.
    fn good_body(&mut self) -> Value {
        let title = if self.one_in(4) { self.text(210) } else { "A title".into() };
        let content = if self.one_in(4) { self.text(300) } else { "A content".into() };
        let username = match self.below(4) {
            0 => self.text(70),
            1 => format!("User {}", self.below(usize::MAX)),
            _ => self.pick(&["Ann", "BOB", "Zo\u{eb}", "ZOE\u{308}", "Carl"]).to_owned(),
        };
        json!({
            "username": username, "userId": self.pick(&["ann", "ann", "ann", "ann", "ann", "bob", "nobody"]),
            "title": title, "content": content,
        })
    }

    fn json(&mut self, depth: usize) -> Value {
        match self.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => json!(self.one_in(2)),
            2 => json!(f64::from(u32::try_from(self.below(1_000_000)).unwrap()) / 7.0),
            3 => json!(self.text(30)),
            4 => json!(self.below(usize::MAX)),
            5 => (0..self.below(5)).map(|_| self.json(depth - 1)).collect(),
            _ => {
                let names = ["username", "userId", "title", "content", "", "$ref", "id"];
                let fields = (0..self.below(5))
                    .map(|_| (self.pick(&names).to_owned(), self.json(depth - 1)));
                Value::Object(fields.collect())
            }
        }
    }
}

fn percent_encode(bytes: &[u8]) -> String {
    let digits = b"0123456789ABCDEF";
    let encoded = bytes.iter().flat_map(|byte| {
        [b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]].map(char::from)
    });
    encoded.collect()
}
