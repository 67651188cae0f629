//! The part of a sample from which candidates are made.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek, SeekFrom},
};

use serde_json::Value;

use super::MAX_PROFILED_ITEMS;
use crate::sample::SampleItem;

/// The places of a file from which items are taken: the start of a file that is sorted by tenant or time has
/// one tenant or time.
const FILE_PLACES: usize = 1_000;

/// The step from a place to the next, without a common divisor with the number of places.
const PLACE_STRIDE: u64 = 617;

/// The bytes of the part, since 3,000 items of the largest size, 2 MB, would fill the memory.
const MAX_PART_BYTES: u64 = 32 << 20;

/// Reads items from places all over a file, and goes back to its start. Lines that are no item are skipped
/// here, and reported by the pass over the whole sample.
pub(crate) fn part_of_file(file: &mut File) -> io::Result<Vec<SampleItem>> {
    let part = spread(file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(part)
}

fn spread(file: &mut File) -> io::Result<Vec<SampleItem>> {
    let size = file.metadata()?.len();
    if size <= MAX_PART_BYTES / 4 {
        return Ok(items(BufReader::new(&*file), usize::MAX, MAX_PART_BYTES));
    }
    let places = u64::try_from(FILE_PLACES).unwrap_or(1);
    let mut part = Vec::new();
    let mut left = MAX_PART_BYTES;
    // In an order that is all over the file, in case a few large items fill the part.
    for place in (0..places).map(|n| n * PLACE_STRIDE % places) {
        let start = size / places * place;
        file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::new(&*file);
        if start > 0 {
            // The rest of the line at this place.
            reader.skip_until(b'\n')?;
        }
        let found = items(reader, MAX_PROFILED_ITEMS / FILE_PLACES, left);
        left = left.saturating_sub(found.iter().map(|item| item.bytes as u64).sum());
        part.extend(found);
    }
    Ok(part)
}

fn items(from: impl BufRead, most: usize, bytes: u64) -> Vec<SampleItem> {
    let lines = from.take(bytes).split(b'\n').map_while(Result::ok).take(most);
    let item = |line: Vec<u8>| {
        let text = line.trim_ascii();
        let value: Value = serde_json::from_slice(text).ok()?;
        value.is_object().then_some(SampleItem { bytes: text.len(), value })
    };
    let mut items: Vec<SampleItem> = lines.filter_map(item).collect();
    thin(&mut items);
    items
}

/// Keeps at most [`MAX_PROFILED_ITEMS`], spread evenly.
fn thin(items: &mut Vec<SampleItem>) {
    let step = items.len().div_ceil(MAX_PROFILED_ITEMS).max(1);
    let mut n = 0;
    items.retain(|_| {
        n += 1;
        (n - 1) % step == 0
    });
}
