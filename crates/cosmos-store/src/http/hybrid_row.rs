//! Batches of the .NET SDK: rows of HybridRow, version 1, in records of RecordIO.
//!
//! The formats are those of the schemas in the SDK's repository (`HybridRowBatchSchemas.json`). All numbers are
//! little-endian.

use std::str::from_utf8;

use super::{Kind, batch::MAX_OPERATIONS};
use crate::{Refusal, Result};

const VERSION: u8 = 0x81;

// The ids of the schemas.
const SEGMENT: u32 = 2_147_473_648;
const RECORD: u32 = 2_147_473_649;
const BATCH_OPERATION: u32 = 2_145_473_648;
const BATCH_RESULT: u32 = 2_145_473_649;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// Its kind.
    pub kind: Kind,
    /// The id of the item; a creation and an upsert have it in the body.
    pub id: Option<String>,
    /// The partition key as a JSON array, in bulk.
    pub partition_key: Option<String>,
    /// The item, or the body of a patch; text or binary JSON.
    pub body: Vec<u8>,
    /// `If-Match`
    pub if_match: Option<String>,
    /// `If-None-Match`
    pub if_none_match: Option<String>,
    /// True if the caller wants no body in the answer.
    pub minimal: bool,
}

/// The result of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// The HTTP status.
    pub status: u16,
    /// The sub-status; 0 is none.
    pub sub_status: u32,
    /// The ETag with its quotes.
    pub etag: Option<String>,
    /// The item, or the error.
    pub body: Option<Vec<u8>>,
    /// The pause before a retry; 0 is none. The SDK waits five seconds after a 429 without it.
    pub retry_after_ms: u32,
    /// Request units.
    pub charge: f64,
}

/// Returns true if a body is a batch in this format.
pub(crate) fn is_hybrid_row(body: &[u8]) -> bool {
    body.first() == Some(&VERSION)
}

/// Reads the operations of a batch, at most one more than a batch may have. Errors: 400 for bytes that are no batch.
pub(crate) fn read(body: &[u8]) -> Result<Vec<Operation>> {
    let bad = || Refusal::new(400, "The batch request body is not a valid HybridRow stream.");
    let rows = records(body).ok_or_else(bad)?;
    rows.into_iter().map(|bytes| operation(bytes).ok_or_else(bad)).collect()
}

/// Writes the answer to a batch.
pub(crate) fn write(outcomes: &[Outcome]) -> Vec<u8> {
    let mut to = Vec::new();
    begin(&mut to, SEGMENT);
    to.push(1);
    to.extend(10_u32.to_le_bytes());
    for outcome in outcomes {
        let row = result(outcome);
        begin(&mut to, RECORD);
        // A row is an item of at most 2 MB and a few numbers.
        to.extend(u32::try_from(row.len()).unwrap_or(u32::MAX).to_le_bytes());
        to.extend(crc32fast::hash(&row).to_le_bytes());
        to.extend(row);
    }
    to
}

fn result(outcome: &Outcome) -> Vec<u8> {
    let mut to = Vec::new();
    begin(&mut to, BATCH_RESULT);
    let variable = [outcome.etag.as_deref().map(str::as_bytes), outcome.body.as_deref()];
    to.push(0b11 | u8::from(variable[0].is_some()) << 2 | u8::from(variable[1].is_some()) << 3);
    to.extend(u32::from(outcome.status).to_le_bytes());
    to.extend(outcome.sub_status.to_le_bytes());
    for bytes in variable.into_iter().flatten() {
        let mut length = bytes.len();
        loop {
            let low = u8::try_from(length & 0x7f).unwrap_or_default();
            length >>= 7;
            if length == 0 {
                to.push(low);
                break;
            }
            to.push(low | 0x80);
        }
        to.extend(bytes);
    }
    // Type and token of the sparse columns.
    to.extend([11, 5]);
    to.extend(outcome.retry_after_ms.to_le_bytes());
    to.extend([16, 6]);
    to.extend(outcome.charge.to_le_bytes());
    to
}

fn begin(to: &mut Vec<u8>, schema: u32) {
    to.push(VERSION);
    to.extend(schema.to_le_bytes());
}

fn operation(bytes: &[u8]) -> Option<Operation> {
    let row = Row::read(bytes, BATCH_OPERATION, 5)?;
    let text = |bytes: Option<&[u8]>| match bytes {
        None => Some(None),
        Some(bytes) => Some(Some(from_utf8(bytes).ok()?.to_owned())),
    };
    // The resource has to be an item.
    let [Some(kind), Some(2)] = row.fixed else { return None };
    let kind = match kind {
        0 => Kind::Create,
        1 => Kind::Patch,
        2 => Kind::Read,
        4 => Kind::Delete,
        5 => Kind::Replace,
        20 => Kind::Upsert,
        _ => return None,
    };
    let [partition_key, _, id, _, body] = row.variable[..] else { return None };
    let mut operation = Operation {
        kind,
        id: text(id)?,
        partition_key: text(partition_key)?,
        body: body.unwrap_or_default().to_vec(),
        if_match: None,
        if_none_match: None,
        minimal: false,
    };
    let mut rest = row.sparse;
    while !rest.0.is_empty() {
        let (kind, path, value) = rest.sparse(12)?;
        let value = Some(value).filter(|_| matches!(kind, 20 | 21));
        match path {
            Path::Token(9) | Path::Name(b"ifMatch") => operation.if_match = text(value)?,
            Path::Token(10) | Path::Name(b"ifNoneMatch") => operation.if_none_match = text(value)?,
            Path::Token(12) | Path::Name(b"minimalReturnPreference") => {
                operation.minimal = kind == TRUE;
            }
            _ => {}
        }
    }
    Some(operation)
}

/// Returns the rows in the records of a stream, at most one more than a batch may have.
fn records(body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = Reader(body);
    let mut rows = Vec::new();
    while !rest.0.is_empty() && rows.len() <= MAX_OPERATIONS {
        let mut header = Reader(rest.0);
        match header.schema()? {
            SEGMENT => {
                // The mask; a length has to be there.
                (header.take(1)?.first()? & 1 == 1).then_some(())?;
                let length = header.number()? as usize;
                rest.take(length)?;
            }
            RECORD => {
                let length = header.number()? as usize;
                let crc = header.number()?;
                let bytes = header.take(length)?;
                if crc32fast::hash(bytes) != crc {
                    return None;
                }
                rows.push(bytes);
                rest = header;
            }
            _ => return None,
        }
    }
    Some(rows)
}

/// The columns of an operation or a result: two numbers, then values with a length, then those that say what they are.
struct Row<'a> {
    fixed: [Option<u32>; 2],
    variable: Vec<Option<&'a [u8]>>,
    sparse: Reader<'a>,
}

impl<'a> Row<'a> {
    fn read(bytes: &'a [u8], schema: u32, n_variable: usize) -> Option<Self> {
        let mut rest = Reader(bytes);
        (rest.schema()? == schema).then_some(())?;
        // The bits of the columns that are there. Space for the numbers is always.
        let mask = *rest.take(1)?.first()?;
        let is_there = |bit: usize| mask & 1 << bit != 0;
        let numbers = [rest.number()?, rest.number()?];
        let variable = (2..2 + n_variable)
            .map(|bit| if is_there(bit) { rest.bytes().map(Some) } else { Some(None) });
        let variable = variable.collect::<Option<_>>()?;
        let fixed = [0, 1].map(|bit| Some(numbers[bit]).filter(|_| is_there(bit)));
        Some(Self { fixed, variable, sparse: rest })
    }
}

const TRUE: u8 = 3;

/// How a sparse column says which one it is: by its place in the schema, from 1, or by its name.
enum Path<'a> {
    Token(usize),
    Name(&'a [u8]),
}

/// The bytes that have not been read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Reads the begin of a row.
    fn schema(&mut self) -> Option<u32> {
        if self.take(1)? == [VERSION] { self.number() } else { None }
    }

    /// Reads a number of 7 bits a byte, the lowest first.
    fn length(&mut self) -> Option<usize> {
        let mut length = 0;
        for shift in (0..63).step_by(7) {
            let byte = *self.take(1)?.first()?;
            length |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(length);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// Reads the next sparse column of a schema of so many columns: its type, its path and the bytes of its value.
    /// Objects and arrays do not occur.
    fn sparse(&mut self, n_columns: usize) -> Option<(u8, Path<'a>, &'a [u8])> {
        let kind = *self.take(1)?.first()?;
        let path = self.length()?;
        let path = match path.checked_sub(n_columns + 1) {
            None => Path::Token(path),
            Some(length) => Path::Name(self.take(length)?),
        };
        let length = match kind {
            1..=3 => 0,
            5 | 9 => 1,
            6 | 10 => 2,
            7 | 11 | 15 => 4,
            8 | 12 | 16 | 18 | 23 => 8,
            24 => 12,
            17 | 19 | 22 => 16,
            // Numbers of 7 bits a byte.
            13 | 14 => {
                self.length()?;
                0
            }
            20 | 21 => self.length()?,
            _ => return None,
        };
        Some((kind, path, self.take(length)?))
    }
}

#[cfg(test)]
mod tests;
