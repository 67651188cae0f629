//! The sample, the first stage: JSON Lines of any size.

use std::io::BufRead;

use anyhow::{Context, anyhow, ensure};
use serde_json::Value;

/// A small batch stays in the caches of a core: freeing another core's memory takes longer than parsing.
const BATCH_BYTES: usize = 1 << 18;

/// The longest line, in bytes. The service's limit of an item is 2 MB; escapes may lengthen it.
pub(crate) const MAX_LINE_BYTES: usize = 32 << 20;

/// The largest item that the service stores, in bytes as JSON.
pub(crate) const MAX_ITEM_BYTES: usize = 2 << 20;

#[derive(Clone, Debug)]
pub(crate) struct SampleItem {
    pub(crate) value: Value,
    pub(crate) bytes: usize,
}

/// Passes JSON Lines to `each` in batches, in their order. One batch is in memory at a time.
pub(crate) fn read(
    mut from: impl BufRead,
    mut each: impl FnMut(&[SampleItem]),
) -> anyhow::Result<()> {
    let (mut batch, mut batch_bytes) = (Vec::new(), 0);
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let one = std::io::Read::take(&mut from, MAX_LINE_BYTES as u64 + 1);
        let length = { one }.read_until(b'\n', &mut text).context("the sample cannot be read")?;
        ensure!(
            length <= MAX_LINE_BYTES,
            "line {line}: longer than {} MB; write one item a line",
            MAX_LINE_BYTES >> 20
        );
        batch.extend(item(line, &text)?);
        batch_bytes += length;
        if length == 0 || batch_bytes >= BATCH_BYTES {
            if !batch.is_empty() {
                each(&batch);
            }
            (batch, batch_bytes) = (Vec::new(), 0);
        }
        if length == 0 {
            break;
        }
    }
    Ok(())
}

fn item(line: u64, text: &[u8]) -> anyhow::Result<Option<SampleItem>> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Ok(None);
    }
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| anyhow!("line {line}: not JSON ({error}); write one item a line"))?;
    ensure!(value.is_object(), "line {line}: an item is a JSON object, such as {{\"id\": \"1\"}}");
    let bytes = value.to_string().len();
    ensure!(
        bytes <= MAX_ITEM_BYTES,
        "line {line}: the item has {bytes} bytes, and the service stores items of at most {MAX_ITEM_BYTES}; leave \
         it out, or split it as the app has to"
    );
    Ok(Some(SampleItem { value, bytes }))
}
