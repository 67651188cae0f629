//! The part of a sample from which candidates are made.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
};

use serde_json::Value;

use super::MAX_PROFILED_ITEMS;
use crate::sample::SampleItem;

/// The places of a file from which items are taken: the start of a file that is sorted by tenant or time has
/// one tenant or time.
const FILE_PLACES: u64 = 1_000;
const ITEMS_OF_A_PLACE: usize = 3;

/// The step from a place to the next, without a common divisor with the number of places.
const PLACE_STRIDE: u64 = 617;

/// The bytes of the part, since 3,000 items of the largest size, 2 MB, would fill the memory.
const MAX_PART_BYTES: u64 = 32 << 20;

/// Reads items from places all over a file, and goes back to its start. Lines that are no item are skipped
/// here, and reported by the pass over the whole sample.
pub(crate) fn part_of_file(file: &mut File) -> io::Result<Vec<SampleItem>> {
    let size = file.metadata()?.len();
    let is_small = size <= MAX_PART_BYTES / 4;
    let places = if is_small { 1 } else { FILE_PLACES };
    let most = if is_small { usize::MAX } else { ITEMS_OF_A_PLACE };
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
        for line in reader.take(left).split(b'\n').map_while(Result::ok).take(most) {
            let text = line.trim_ascii();
            if let Ok(value @ Value::Object(_)) = serde_json::from_slice(text) {
                left = left.saturating_sub(text.len() as u64);
                part.push(SampleItem { bytes: text.len(), value });
            }
        }
    }
    file.seek(SeekFrom::Start(0))?;
    let step = part.len().div_ceil(MAX_PROFILED_ITEMS).max(1);
    Ok(part.into_iter().step_by(step).collect())
}
