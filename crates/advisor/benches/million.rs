//! A million items of 1 KB under 20 candidates and 8 kinds of requests: time and memory.
//!
//! `cargo run --release -p tributary-partition --no-default-features --features bench --bin million` prints
//! the table of the README. Items are made while they are
//! read, so that no disk is measured; each size has a process of its own, for its peak of memory.

#![allow(clippy::unwrap_used, reason = "a benchmark ends at its first error")]

use std::{
    env,
    fmt::Write as _,
    io::{self, BufReader, Read},
    process::Command,
    time::Instant,
};

use tributary_partition::{RequestKind, ValidationOptions, validate};

const BODY: &str =
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. ";

const SIZES: [u64; 3] = [250_000, 500_000, 1_000_000];

const CANDIDATES: [&str; 20] = [
    "/id",
    "/userId",
    "/tenantId",
    "/category",
    "/status",
    "/country",
    "/createdAt by day",
    "/createdAt by week",
    "/createdAt by month",
    "/createdAt by year",
    "/userId+/createdAt by month",
    "/userId,/createdAt by month",
    "/tenantId,/userId",
    "/tenantId+/createdAt by month",
    "/tenantId,/userId,/id",
    "/category+/country",
    "/id in 100 buckets",
    "/userId in 1000 buckets",
    "/createdAt by month+/id in 10 buckets",
    "/address/city",
];

const REQUESTS: [&str; 8] = [
    r#"{"kind": "read", "operation": "read", "filters": {"/id": "?", "/userId": "?"}, "frequency": {"perDay": 100000}}"#,
    r#"{"kind": "of a user", "operation": "query", "filters": {"/userId": "?"}, "limit": 20, "orderBy": "/createdAt desc", "frequency": {"perDay": 50000}}"#,
    r#"{"kind": "of a user, recent", "operation": "query", "filters": {"/userId": "?", "/createdAt": {"last": "30 days"}}, "frequency": {"perDay": 20000}}"#,
    r#"{"kind": "of a tenant", "operation": "query", "filters": {"/tenantId": "?"}, "limit": 100, "frequency": {"perDay": 5000}}"#,
    r#"{"kind": "count by status", "operation": "query", "filters": {"/status": "paid"}, "select": "count", "frequency": {"perDay": 10}}"#,
    r#"{"kind": "newest", "operation": "query", "limit": 50, "orderBy": "/createdAt desc", "frequency": {"perDay": 10000}}"#,
    r#"{"kind": "create", "operation": "create", "frequency": {"perDay": 3000}}"#,
    r#"{"kind": "pay", "operation": "patch", "filters": {"/id": "?", "/userId": "?"}, "set": ["/status"], "frequency": {"perDay": 2000}}"#,
];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let [_, flag, n] = arguments.as_slice()
        && flag == "--items"
    {
        return one(n.parse().unwrap());
    }
    let cores = std::thread::available_parallelism().unwrap();
    println!(
        "{cores} cores, {} candidates, {} kinds of requests\n",
        CANDIDATES.len(),
        REQUESTS.len()
    );
    println!("| items of 1 KB | seconds | processor seconds | peak memory |");
    println!("| ---: | ---: | ---: | ---: |");
    for n in SIZES {
        let status =
            Command::new(&arguments[0]).args(["--items", &n.to_string()]).status().unwrap();
        assert!(status.success());
    }
}

fn one(n: u64) {
    let candidates = CANDIDATES.map(|candidate| candidate.parse().unwrap()).to_vec();
    let requests: Vec<RequestKind> =
        REQUESTS.map(|request| serde_json::from_str(request).unwrap()).to_vec();
    let options = ValidationOptions {
        time: Some("/createdAt".parse().unwrap()),
        ..ValidationOptions::default()
    };
    let start = Instant::now();
    let items = BufReader::with_capacity(
        1 << 20,
        GeneratedItems { next: 0, n, line: String::new(), at: 0 },
    );
    let reports = validate(items, requests, candidates, options, |_| {}).unwrap();
    let seconds = start.elapsed().as_secs_f64();
    assert!(reports.iter().all(|report| report.estimates.items == n));
    println!("| {n} | {seconds:.1} | {:.1} | {} MB |", processor_seconds(), peak_megabytes());
}

/// Items as lines, made while they are read.
struct GeneratedItems {
    next: u64,
    n: u64,
    line: String,
    at: usize,
}

impl Read for GeneratedItems {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            if self.next == self.n {
                return Ok(0);
            }
            self.line.clear();
            self.at = 0;
            item(&mut self.line, self.next);
            self.next += 1;
        }
        let length = buffer.len().min(self.line.len() - self.at);
        buffer[..length].copy_from_slice(&self.line.as_bytes()[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

/// Writes an item of a shop or a forum: few users have many items, over a year, of some 1,024 bytes.
fn item(line: &mut String, n: u64) {
    let random =
        n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let a = random >> 40;
    let b = random & 0xFF_FFFF;
    // The square of an even number is skewed.
    let user = (a * a) >> 32;
    let second = n * 31_536_000 / 1_000_000;
    let day = second / 86_400;
    let time = second % 86_400;
    let month = day / 31 + 1;
    let day = day % 28 + 1;
    let start = line.len();
    write!(
        line,
        "{{\"id\":\"{random:016x}\",\"userId\":\"user-{user}\",\"tenantId\":\"tenant-{}\",\
         \"createdAt\":\"2026-{month:02}-{day:02}T{:02}:{:02}:{:02}Z\",\"status\":\"{}\",\
         \"category\":\"category-{}\",\"country\":\"{}\",\"address\":{{\"city\":\"city-{}\",\"zip\":{}}},\
         \"likes\":{},\"price\":{}.5,\"active\":true,\"tags\":[\"a{}\",\"b{}\"],\"title\":\"Item {n}\",\"body\":\"",
        user % 500, time / 3_600, time / 60 % 60, time % 60,
        ["new", "paid", "shipped", "delivered"][(b % 4) as usize],
        b % 40, ["ch", "de", "fr", "it", "at", "us"][(b % 6) as usize], b % 5_000, b % 10_000,
        b % 100, b % 1_000, b % 20, b % 30,
    )
    .unwrap();
    let mut rest = 1_024_usize.saturating_sub(line.len() - start + 3);
    while rest > 0 {
        let length = rest.min(BODY.len());
        line.push_str(&BODY[..length]);
        rest -= length;
    }
    line.push_str("\"}\n");
}

fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|peak| peak.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1_024
}

/// Returns the time on all cores, without the waiting for a core that others use. In hundredths of a second, as Linux
/// counts.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
