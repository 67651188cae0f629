//! A handler that records every request, and answers as a file says. It speaks HTTP over TCP by itself,
//! so that it can also answer too early, close the connection, or end.
//!
//! `RECORDING_FOLDER` is shared with the test: each request becomes a line of JSON in `deliveries`, and
//! `answer`, if it exists, has the answer to all requests: `{"status": 200, "headers": {…}, "body":
//! "…", "chunked": true, "reset": true, "early": true, "exit": 3}`.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::exit;
use std::thread;

use serde::Deserialize;
use serde_json::{Map, Value, json};

const BODY: &str = r#"{"Outputs":{},"Logs":["recorded"],"ReturnValue":null}"#;

#[derive(Deserialize, Default)]
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
}

struct Head {
    line: String,
    headers: Vec<(String, String)>,
}

impl Head {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::var("FUNCTIONS_CUSTOMHANDLER_PORT")?.parse()?;
    let folder = PathBuf::from(std::env::var("RECORDING_FOLDER")?);
    for stream in TcpListener::bind(("127.0.0.1", port))?.incoming() {
        let stream = stream?;
        let folder = folder.clone();
        // A broken connection must not end the others.
        thread::spawn(move || serve(stream, &folder).is_ok());
    }
    Ok(())
}

fn serve(mut stream: TcpStream, folder: &std::path::Path) -> Result<(), Box<dyn Error>> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    while let Some(head) = read_head(&mut reader)? {
        if head.line == "GET / HTTP/1.1" {
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
            continue;
        }
        let answer = std::fs::read(folder.join("answer")).unwrap_or_else(|_| b"{}".to_vec());
        let answer: Answer = serde_json::from_slice(&answer)?;
        let body = if answer.early { Vec::new() } else { read_body(&head, &mut reader)? };
        let headers: Vec<String> =
            head.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let line = head.line.trim_end_matches(" HTTP/1.1");
        let body = String::from_utf8_lossy(&body);
        let delivery = json!({ "line": line, "headers": headers, "body": body });
        let mut file =
            OpenOptions::new().create(true).append(true).open(folder.join("deliveries"))?;
        file.write_all(format!("{delivery}\n").as_bytes())?;
        if let Some(code) = answer.exit {
            exit(code);
        }
        if answer.reset {
            return Ok(());
        }
        stream.write_all(&text(&answer, line.starts_with("HEAD ")))?;
        if answer.early {
            return Ok(());
        }
    }
    Ok(())
}

fn read_head(reader: &mut impl BufRead) -> Result<Option<Head>, Box<dyn Error>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let headers = lines.split_off(1);
    let pair = |line: &String| {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    let headers = headers.iter().map(pair).collect();
    Ok(lines.pop().map(|line| Head { line, headers }))
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
    let json = || Map::from_iter([("content-type".to_owned(), "application/json".into())]);
    let headers = answer.headers.clone().unwrap_or_else(json);
    let body = answer.body.as_deref().unwrap_or(BODY);
    let mut lines = vec![format!("HTTP/1.1 {status} OK\r\n")];
    let line = |(name, value): (&String, &Value)| {
        format!("{name}: {}\r\n", value.as_str().unwrap_or_default())
    };
    lines.extend(headers.iter().map(line));
    if is_head || matches!(status, 204 | 304) {
        lines.push("\r\n".to_owned());
    } else if body.is_empty() && answer.chunked {
        lines.push("transfer-encoding: chunked\r\n\r\n0\r\n\r\n".to_owned());
    } else if body.is_empty() {
        lines.push("content-length: 0\r\n\r\n".to_owned());
    } else {
        let n_bytes = body.len();
        let chunks = format!("{n_bytes:x}\r\n{body}\r\n0\r\n\r\n");
        lines.push(format!("transfer-encoding: chunked\r\n\r\n{chunks}"));
    }
    lines.concat().into_bytes()
}
