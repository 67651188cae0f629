//! The writes of a request: one, or those of a transactional batch.

use azure_core::http::Request;
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{
        operation::RequestKind,
        written::{body_of, parse},
    },
    items::{self, Version, Within},
    policy::IndexingPolicy,
    rates,
};

/// An operation on an item. In a batch it may be a read.
#[derive(Debug)]
pub(super) struct Write {
    kind: RequestKind,
    within: Within,
    pub(super) id: Option<String>,
    /// What the request wants the item to be.
    new: Option<Version>,
    n_patches: u32,
}

impl Write {
    /// The operations of a request; none when it does not write or cannot be read.
    pub(super) fn all_of(kind: RequestKind, item: Option<&str>, request: &Request) -> Vec<Self> {
        let write = |new: Option<Version>, n_patches| {
            let of_body = new.as_ref().and_then(|new| id_of(&new.item));
            let id = item.map(str::to_owned).or(of_body);
            vec![Self { kind, within: Within::Request, id, new, n_patches }]
        };
        match kind {
            RequestKind::Create | RequestKind::Upsert | RequestKind::Replace => {
                let new =
                    parse(request).map(|item| Version { item, bytes: body_of(request).len() });
                write(new, 0)
            }
            RequestKind::Patch => write(None, n_patches(request)),
            RequestKind::Delete => write(None, 0),
            RequestKind::Batch => {
                let operations: Vec<BatchOperation> = parse(request).unwrap_or_default();
                operations.into_iter().filter_map(BatchOperation::into_write).collect()
            }
            RequestKind::Read
            | RequestKind::Query
            | RequestKind::ReadFeed
            | RequestKind::ChangeFeed => Vec::new(),
        }
    }

    /// Whether its charge depends on what was there before.
    pub(super) fn follows(&self) -> bool {
        self.kind != RequestKind::Create
    }

    /// Whether only the item itself tells what it has become.
    pub(super) fn needs_a_look_after(&self) -> bool {
        self.kind == RequestKind::Patch
    }

    /// What it costs, now that it has happened; `None` when that cannot be told.
    pub(super) fn charge(
        self,
        old: Option<Version>,
        after: Option<Version>,
        policy: &IndexingPolicy,
    ) -> Option<f64> {
        let charge = match (self.kind, old, self.new.or(after)) {
            (RequestKind::Patch, Some(old), Some(new)) => {
                items::patch(&old, &new, self.n_patches, policy)
            }
            (RequestKind::Upsert | RequestKind::Replace, Some(old), Some(new)) => {
                items::replace(&old, &new, policy, self.within)
            }
            // In a batch, what is replaced may be made by the batch itself.
            (RequestKind::Create | RequestKind::Upsert | RequestKind::Replace, None, Some(new)) => {
                items::create(&new, policy)
            }
            (RequestKind::Delete, Some(old), _) => items::delete(&old, policy),
            (RequestKind::Read, Some(old), _) => rates::read(old.bytes),
            _ => return None,
        };
        Some(charge)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BatchOperation {
    operation_type: String,
    id: Option<String>,
    resource_body: Option<Value>,
}

impl BatchOperation {
    fn into_write(self) -> Option<Write> {
        let kind = match self.operation_type.as_str() {
            "Create" => RequestKind::Create,
            "Upsert" => RequestKind::Upsert,
            "Replace" => RequestKind::Replace,
            "Delete" => RequestKind::Delete,
            "Read" => RequestKind::Read,
            _ => return None,
        };
        let id = self.id.or_else(|| self.resource_body.as_ref().and_then(id_of));
        let new = self.resource_body.map(|item| Version { bytes: item.to_string().len(), item });
        Some(Write { kind, within: Within::Transaction, id, new, n_patches: 0 })
    }
}

fn id_of(item: &Value) -> Option<String> {
    Some(item.get("id")?.as_str()?.to_owned())
}

fn n_patches(request: &Request) -> u32 {
    let body: Option<Value> = parse(request);
    let operations = body.as_ref().and_then(|body| body.get("operations")?.as_array());
    operations.map_or(0, |operations| u32::try_from(operations.len()).unwrap_or(u32::MAX))
}
