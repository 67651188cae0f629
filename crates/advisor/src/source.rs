//! Files as people have them: gzip, a byte-order mark, an array or a stream of JSON in any layout.

use std::io::{BufRead, BufReader, Read};

use anyhow::{Context, anyhow, bail, ensure};
use flate2::bufread::MultiGzDecoder;
use serde::Deserialize;
use serde_json::{Deserializer, Map, Value};

use crate::sample::MAX_LINE_BYTES;

/// What is not read, by its first bytes, with the command that converts it.
const UNREAD_FORMATS: [(&[u8], &str, &str); 4] = [
    (b"PK\x03\x04", "a zip archive (or a workbook: save it as CSV)", "unzip FILE"),
    (b"\x28\xB5\x2F\xFD", "compressed by Zstandard", "zstd -d FILE"),
    (b"\xFF\xFE", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > UTF8_FILE"),
    (b"\xFE\xFF", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > UTF8_FILE"),
];

pub(crate) fn text<'a>(mut from: impl BufRead + 'a) -> anyhow::Result<Box<dyn BufRead + 'a>> {
    let is_gzip = from.fill_buf().context("cannot be read")?.starts_with(b"\x1F\x8B");
    let mut text: Box<dyn BufRead + 'a> =
        if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(from))) } else { Box::new(from) };
    let head = text.fill_buf().context("cannot be read")?;
    let unread = UNREAD_FORMATS.iter().find(|(first, ..)| head.starts_with(first));
    if let Some((_, what, command)) = unread {
        bail!("is {what}, which is not read: convert it by `{command}`");
    }
    if head.starts_with(b"\xEF\xBB\xBF") {
        text.consume(3);
    }
    Ok(text)
}

/// Reads JSON objects, in an array or one after another. One is in memory at a time.
pub(crate) fn objects(
    mut from: impl BufRead,
    mut each: impl FnMut(Map<String, Value>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let (mut n, mut depth) = (0, 0);
    while let Some(&first) = from.fill_buf().context("cannot be read")?.first() {
        if first.is_ascii_whitespace() || b"[],".contains(&first) {
            depth += i32::from(first == b'[') - i32::from(first == b']');
            from.consume(1);
            continue;
        }
        n += 1;
        ensure!(first == b'{', "item {n}: an item is a JSON object, such as {{\"id\": \"1\"}}");
        let one = (&mut from).take(MAX_LINE_BYTES as u64);
        let object = Map::deserialize(&mut Deserializer::from_reader(one));
        let object = object.map_err(|error| anyhow!("item {n}: not JSON ({error})"))?;
        each(object).with_context(|| format!("item {n}"))?;
    }
    ensure!(depth == 0, "is not complete: its array does not end");
    Ok(())
}
