//! Batches of the .NET SDK: rows of HybridRow, version 1, in records of RecordIO.
//!
//! The formats are those of the schemas in the SDK's repository (`HybridRowBatchSchemas.json`). All numbers are
//! little-endian.

use std::str::from_utf8;

use super::{Kind, batch::MAX_OPERATIONS};
use crate::Refusal;

const VERSION: u8 = 0x81;

/// A layout of rows: its id and its columns, those with bits first.
struct Schema {
    id: u32,
    columns: &'static [Column],
}

/// Where a column is in a row. The token of a sparse column is its place in the schema, from 1.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    /// Four bytes that are always there, with a bit that says whether they count.
    Fixed,
    /// Bytes after their length, if the column's bit says so.
    Variable,
    /// A type, a token and a value, at the end.
    Sparse,
}

use Column::{Fixed, Sparse, Variable};

const SEGMENT: Schema = Schema { id: 2_147_473_648, columns: &[Fixed, Sparse, Sparse, Sparse] };

const RECORD_ID: u32 = 2_147_473_649;

const BATCH_OPERATION: Schema = Schema {
    id: 2_145_473_648,
    columns: &[
        Fixed, Fixed, Variable, Variable, Variable, Variable, Variable, Sparse, Sparse, Sparse,
        Sparse, Sparse,
    ],
};

const BATCH_RESULT: Schema =
    Schema { id: 2_145_473_649, columns: &[Fixed, Fixed, Variable, Variable, Sparse, Sparse] };

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value<'a> {
    Number(u32),
    Double(f64),
    Bool(bool),
    Bytes(&'a [u8]),
    /// A value of a type that no column of these schemas has.
    Other,
}

/// An operation of a batch.
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

/// Reads the operations of a batch, at most one more than a batch may have.
///
/// # Errors
/// 400 for bytes that are no batch.
pub(crate) fn read(body: &[u8]) -> Result<Vec<Operation>, Refusal> {
    let bad = || Refusal::new(400, "The batch request body is not a valid HybridRow stream.");
    let rows = records(body).ok_or_else(bad)?;
    rows.into_iter().map(|bytes| operation(bytes).ok_or_else(bad)).collect()
}

/// Writes the answer to a batch.
pub(crate) fn write(outcomes: &[Outcome]) -> Vec<u8> {
    let mut to = Vec::new();
    begin(&mut to, SEGMENT.id);
    to.push(1);
    to.extend(10_u32.to_le_bytes());
    for outcome in outcomes {
        let row = result(outcome);
        begin(&mut to, RECORD_ID);
        // A row is an item of at most 2 MB and a few numbers.
        to.extend(u32::try_from(row.len()).unwrap_or(u32::MAX).to_le_bytes());
        to.extend(crc32fast::hash(&row).to_le_bytes());
        to.extend(row);
    }
    to
}

fn result(outcome: &Outcome) -> Vec<u8> {
    let mut to = Vec::new();
    begin(&mut to, BATCH_RESULT.id);
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
    let row = row(bytes, &BATCH_OPERATION)?;
    let column = |token: usize| row.get(token - 1).copied().flatten();
    let text = |token| match column(token) {
        None => Some(None),
        Some(Value::Bytes(bytes)) => Some(Some(from_utf8(bytes).ok()?.to_owned())),
        Some(_) => None,
    };
    let kind = match column(1)? {
        Value::Number(0) => Kind::Create,
        Value::Number(1) => Kind::Patch,
        Value::Number(2) => Kind::Read,
        Value::Number(4) => Kind::Delete,
        Value::Number(5) => Kind::Replace,
        Value::Number(20) => Kind::Upsert,
        _ => return None,
    };
    if column(2)? != Value::Number(2) {
        return None; // No operation on an item.
    }
    let body = match column(7) {
        Some(Value::Bytes(body)) => body.to_vec(),
        _ => Vec::new(),
    };
    Some(Operation {
        kind,
        id: text(5)?,
        partition_key: text(3)?,
        body,
        if_match: text(9)?,
        if_none_match: text(10)?,
        minimal: column(12) == Some(Value::Bool(true)),
    })
}

/// Returns the rows in the records of a stream, at most one more than a batch may have.
fn records(body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = Reader(body);
    let mut rows = Vec::new();
    while !rest.0.is_empty() && rows.len() <= MAX_OPERATIONS {
        let mut header = Reader(rest.0);
        let schema = header.schema()?;
        if schema == SEGMENT.id {
            header.take(1)?; // The mask; a length has to be there.
            let length = header.number()? as usize;
            let row = row(rest.take(length)?, &SEGMENT)?;
            row.first()?.as_ref()?;
        } else if schema == RECORD_ID {
            let length = header.number()? as usize;
            let crc = header.number()?;
            let bytes = header.take(length)?;
            if crc32fast::hash(bytes) != crc {
                return None;
            }
            rows.push(bytes);
            rest = header;
        } else {
            return None;
        }
    }
    Some(rows)
}

/// Reads a row: a value for each column of the schema that is there.
fn row<'a>(bytes: &'a [u8], schema: &Schema) -> Option<Vec<Option<Value<'a>>>> {
    let mut rest = Reader(bytes);
    if rest.schema()? != schema.id {
        return None;
    }
    let n_bits = schema.columns.iter().filter(|column| **column != Sparse).count();
    let mask = rest.take(n_bits.div_ceil(8))?;
    let is_there = |bit: usize| mask.get(bit / 8).is_some_and(|byte| byte & 1 << (bit % 8) != 0);
    let mut row = vec![None; schema.columns.len()];
    for (bit, (value, column)) in row.iter_mut().zip(schema.columns).enumerate() {
        // The fixed columns are the first ones, then the variable ones, so a column's place is that of its bit.
        match column {
            Fixed => {
                let number = rest.number()?;
                *value = is_there(bit).then_some(Value::Number(number));
            }
            Variable if is_there(bit) => *value = Some(Value::Bytes(rest.bytes()?)),
            Variable | Sparse => {}
        }
    }
    while !rest.0.is_empty() {
        let kind = *rest.take(1)?.first()?;
        let path = rest.length()?;
        let token = match path.checked_sub(schema.columns.len() + 1) {
            None => path.checked_sub(1),
            // The path is written out. It may be the name of a column of this schema.
            Some(length) => sparse_token(schema, rest.take(length)?),
        };
        let value = rest.sparse(kind)?;
        let column =
            token.and_then(|token| Some((schema.columns.get(token)?, row.get_mut(token)?)));
        if let Some((Sparse, at)) = column {
            *at = Some(value);
        }
    }
    Some(row)
}

/// Returns the place of the sparse column with this name.
fn sparse_token(schema: &Schema, name: &[u8]) -> Option<usize> {
    Some(match (schema.id, name) {
        (id, b"ifMatch") if id == BATCH_OPERATION.id => 8,
        (id, b"ifNoneMatch") if id == BATCH_OPERATION.id => 9,
        (id, b"minimalReturnPreference") if id == BATCH_OPERATION.id => 11,
        (id, b"retryAfterMilliseconds") if id == BATCH_RESULT.id => 4,
        (id, b"requestCharge") if id == BATCH_RESULT.id => 5,
        _ => return None,
    })
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

    /// Reads the value of a sparse column. Objects and arrays do not occur.
    fn sparse(&mut self, kind: u8) -> Option<Value<'a>> {
        let skipped = match kind {
            2 | 3 => return Some(Value::Bool(kind == 3)),
            7 | 11 => return Some(Value::Number(self.number()?)),
            16 => {
                let bytes = self.take(8)?.try_into().ok()?;
                return Some(Value::Double(f64::from_le_bytes(bytes)));
            }
            20 | 21 => return Some(Value::Bytes(self.bytes()?)),
            1 => 0,
            5 | 9 => 1,
            6 | 10 => 2,
            15 => 4,
            8 | 12 | 18 | 23 => 8,
            24 => 12,
            17 | 19 | 22 => 16,
            13 | 14 => {
                self.length()?;
                0
            }
            _ => return None,
        };
        self.take(skipped).map(|_| Value::Other)
    }
}

#[cfg(test)]
mod tests;
