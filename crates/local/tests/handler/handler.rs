//! A handler for the tests of the host, which records every request and answers as a file says. It speaks HTTP
//! over TCP by itself, so that it can also answer too early, close the connection, or end.
//!
//! In its working directory each request becomes a line of JSON in `deliveries`, and `answer`, if it exists, has
//! the answer to all requests: `{"status": 200, "headers": {…}, "body": "…", "chunked": true, "reset": true,
//! "early": true, "exit": 3, "delay": 4000, "stream": 2, "pause": 500, "trailers": {…}, "times": 1}`. Without it,
//! invocations succeed, and a request is answered with 418 and the id of the process.
//!
//! `TEST_EXIT` ends it at the start, `TEST_SILENT` keeps it from listening, `TEST_CHILD` names a file for a child's
//! process id, `TEST_FUNCTIONS` are the functions that it claims to serve, and `TEST_OPENAPI` is its OpenAPI
//! document.

use std::env::var;
use std::error::Error;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, exit};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

const BODY: &str = r#"{"Outputs":{},"Logs":["recorded"],"ReturnValue":null}"#;

#[derive(Clone, Deserialize, Serialize, Default)]
#[serde(default)]
struct Answer {
    status: Option<u16>,
    headers: Option<Map<String, Value>>,
    body: Option<String>,
    /// Sends an empty body in chunks.
    chunked: bool,
    /// Closes the connection without an answer.
    reset: bool,
    /// Answers before it has read the body, and closes the connection.
    early: bool,
    /// Ends the process without an answer.
    exit: Option<i32>,
    /// Waits for so many ms, and records that the caller has left meanwhile.
    delay: u64,
    /// Sends so many chunks of 1,000 bytes instead of the body, with `pause` ms between.
    stream: usize,
    pause: u64,
    trailers: Map<String, Value>,
    /// Answers so only this number of requests.
    times: Option<u32>,
}

struct Head {
    line: String,
    /// `name: value`, names in lower case.
    headers: Vec<String>,
}

impl Head {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);
/// Held while the file `answer` is read and counted.
static ANSWERS: Mutex<()> = Mutex::new(());

fn main() -> Result<(), Box<dyn Error>> {
    println!("the handler starts");
    eprintln!("a warning from the handler");
    if let Ok(file) = var("TEST_CHILD") {
        fs::write(file, Command::new("sleep").arg("600").spawn()?.id().to_string())?;
    }
    if let Ok(code) = var("TEST_EXIT") {
        exit(code.parse()?);
    }
    if var("TEST_SILENT").is_ok() {
        thread::sleep(Duration::from_mins(10));
    }
    #[cfg(unix)]
    thread::spawn(|| end_when_asked().is_ok());
    let port: u16 = var("FUNCTIONS_CUSTOMHANDLER_PORT")?.parse()?;
    for stream in TcpListener::bind(("127.0.0.1", port))?.incoming() {
        let stream = stream?;
        // A broken connection must not end the others.
        thread::spawn(move || serve(stream).is_ok());
    }
    Ok(())
}

/// Ends after SIGTERM and the requests in flight, as a handler of the `custom-handler` crate does.
#[cfg(unix)]
fn end_when_asked() -> Result<(), Box<dyn Error>> {
    use tokio::signal::unix::{SignalKind, signal};

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        signal(SignalKind::terminate())?.recv().await;
        Ok::<_, std::io::Error>(())
    })?;
    while IN_FLIGHT.load(Ordering::SeqCst) > 0 {
        thread::sleep(Duration::from_millis(5));
    }
    exit(200)
}

fn serve(mut stream: TcpStream) -> Result<(), Box<dyn Error>> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(head) = read_head(&mut reader) {
        if head.line == "GET / HTTP/1.1" {
            let functions = var("TEST_FUNCTIONS").map_or_else(
                |_| String::new(),
                |names| format!("x-custom-handler-functions: {names}\r\n"),
            );
            write!(stream, "HTTP/1.1 200 OK\r\n{functions}content-length: 0\r\n\r\n")?;
            continue;
        }
        if head.line == "GET /api/openapi.json HTTP/1.1"
            && let Ok(document) = var("TEST_OPENAPI")
        {
            let length = document.len();
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{document}")?;
            continue;
        }
        IN_FLIGHT.fetch_add(1, Ordering::SeqCst);
        let goes_on = exchange(&head, &mut reader, &mut stream);
        IN_FLIGHT.fetch_sub(1, Ordering::SeqCst);
        if !goes_on? {
            break;
        }
    }
    Ok(())
}

/// Answers a request. Returns false at the end of the connection.
fn exchange(
    head: &Head,
    reader: &mut BufReader<TcpStream>,
    stream: &mut TcpStream,
) -> Result<bool, Box<dyn Error>> {
    let line = head.line.trim_end_matches(" HTTP/1.1");
    let answer = answer_to(line)?;
    let arrived = SystemTime::now();
    let body = if answer.early { Ok(Vec::new()) } else { read_body(head, reader) };
    let aborted = body.is_err();
    let body = body.unwrap_or_default();
    let body = String::from_utf8_lossy(&body);
    record(&json!({
        "line": line, "headers": head.headers, "body": body, "aborted": aborted,
        "length": body.chars().count(),
        "arrived_s": arrived.duration_since(UNIX_EPOCH)?.as_secs_f64(),
        "body_took_s": arrived.elapsed()?.as_secs_f64(),
    }))?;
    if answer.delay > 0 {
        stream.set_read_timeout(Some(Duration::from_millis(answer.delay)))?;
        if matches!(stream.peek(&mut [0]), Ok(0)) {
            record(&json!({ "left_after_s": arrived.elapsed()?.as_secs_f64() }))?;
            return Ok(false);
        }
        stream.set_read_timeout(None)?;
    }
    if let Some(code) = answer.exit {
        exit(code);
    }
    if answer.reset || aborted {
        return Ok(false);
    }
    stream.write_all(&text(&answer, line.starts_with("HEAD ")))?;
    if answer.early {
        return Ok(false);
    }
    for n in 0..answer.stream {
        thread::sleep(Duration::from_millis(if n > 0 { answer.pause } else { 0 }));
        stream.write_all(format!("3e8\r\n{}\r\n", "x".repeat(1_000)).as_bytes())?;
    }
    if answer.stream > 0 {
        let trailers: String = answer.trailers.iter().flat_map(lines).collect();
        stream.write_all(format!("0\r\n{trailers}\r\n").as_bytes())?;
    }
    Ok(true)
}

fn answer_to(line: &str) -> Result<Answer, Box<dyn Error>> {
    let _alone = ANSWERS.lock();
    let Ok(file) = fs::read("answer") else {
        let is_invocation = !line.contains(" /api/");
        let process = json!({ "process": std::process::id() }).to_string();
        let echo = Answer { status: Some(418), body: Some(process), ..Answer::default() };
        return Ok(if is_invocation { Answer::default() } else { echo });
    };
    let answer: Answer = serde_json::from_slice(&file)?;
    match answer.times {
        None => {}
        Some(..=1) => fs::remove_file("answer")?,
        Some(times) => {
            let rest = Answer { times: Some(times - 1), ..answer.clone() };
            fs::write("answer", json!(rest).to_string())?;
        }
    }
    Ok(answer)
}

fn record(what: &Value) -> Result<(), Box<dyn Error>> {
    let mut file = OpenOptions::new().create(true).append(true).open("deliveries")?;
    Ok(file.write_all(format!("{what}\n").as_bytes())?)
}

fn lines((name, value): (&String, &Value)) -> Vec<String> {
    let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let line = |value: &Value| format!("{name}: {}\r\n", value.as_str().unwrap_or_default());
    values.iter().map(line).collect()
}

fn read_head(reader: &mut impl BufRead) -> Option<Head> {
    let lines = reader.lines().map_while(Result::ok);
    let mut lines = lines.take_while(|line| !line.is_empty());
    let line = lines.next()?;
    let header = |line: String| {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        format!("{}: {}", name.to_ascii_lowercase(), value.trim())
    };
    Some(Head { line, headers: lines.map(header).collect() })
}

fn read_body(head: &Head, reader: &mut impl BufRead) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut body = Vec::new();
    if head.header("transfer-encoding").is_none() {
        let length = head.header("content-length").unwrap_or("0").parse()?;
        reader.take(length).read_to_end(&mut body)?;
        return Ok(body);
    }
    loop {
        let mut size = String::new();
        reader.read_line(&mut size)?;
        let size = u64::from_str_radix(size.trim(), 16)?;
        reader.take(size).read_to_end(&mut body)?;
        reader.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn text(answer: &Answer, is_head: bool) -> Vec<u8> {
    let status = answer.status.unwrap_or(200);
    let (content_type, body) =
        if answer.early { ("text/plain", "early") } else { ("application/json", BODY) };
    let usual = || Map::from_iter([("content-type".to_owned(), content_type.into())]);
    let headers = answer.headers.clone().unwrap_or_else(usual);
    let body = answer.body.as_deref().unwrap_or(body);
    let reason = http::StatusCode::from_u16(status).ok();
    let reason = reason.and_then(|status| status.canonical_reason()).unwrap_or_default();
    let mut text = vec![format!("HTTP/1.1 {status} {reason}\r\n")];
    text.extend(headers.iter().flat_map(lines));
    let has_body = !is_head && !matches!(status, 204 | 304);
    text.push(match body.len() {
        _ if !has_body => "\r\n".to_owned(),
        _ if answer.stream > 0 => "transfer-encoding: chunked\r\n\r\n".to_owned(),
        0 if answer.chunked => "transfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        0 => "content-length: 0\r\n\r\n".to_owned(),
        n => format!("transfer-encoding: chunked\r\n\r\n{n:x}\r\n{body}\r\n0\r\n\r\n"),
    });
    text.concat().into_bytes()
}
