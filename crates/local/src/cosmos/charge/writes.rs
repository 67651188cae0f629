//! The writes of a request: one, or those of a transactional batch.

use azure_core::http::Request;
use cosmos_model::charges::items::{self, ItemVersion, WriteScope};
use cosmos_model::charges::policy::IndexingPolicy;
use cosmos_model::charges::rates;
use serde::Deserialize;
use serde_json::Value;

use super::super::operation::{DataRequest, RequestKind, body_of, parse};

/// An operation on an item. In a batch it may be a read.
#[derive(Debug)]
pub(super) struct Write {
    kind: RequestKind,
    within: WriteScope,
    pub(super) id: Option<String>,
    new: Option<ItemVersion>,
    n_patches: u32,
}

impl Write {
    pub(super) fn from_request(
        DataRequest { kind, item, request, .. }: DataRequest<'_>,
    ) -> Vec<Self> {
        let write = |new: Option<ItemVersion>, n_patches| {
            let of_body = new.as_ref().and_then(|new| id_of(&new.item));
            let id = item.map(str::to_owned).or(of_body);
            vec![Self { kind, within: WriteScope::Request, id, new, n_patches }]
        };
        match kind {
            RequestKind::Create | RequestKind::Upsert | RequestKind::Replace => {
                let new =
                    parse(request).map(|item| ItemVersion { item, bytes: body_of(request).len() });
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

    /// Returns true if the charge depends on the state before the write.
    pub(super) fn follows(&self) -> bool {
        self.kind != RequestKind::Create
    }

    /// Returns true if only a read of the item shows its new state.
    pub(super) fn needs_a_look_after(&self) -> bool {
        self.kind == RequestKind::Patch
    }

    pub(super) fn charge(
        self,
        old: Option<ItemVersion>,
        after: Option<ItemVersion>,
        policy: &IndexingPolicy,
    ) -> Option<f64> {
        let charge = match (self.kind, old, self.new.or(after)) {
            (RequestKind::Patch, Some(old), Some(new)) => {
                items::patch(&old, &new, self.n_patches, policy)
            }
            (RequestKind::Upsert | RequestKind::Replace, Some(old), Some(new)) => {
                items::replace(&old, &new, policy, self.within)
            }
            // An item that a batch replaces may be created by the same batch.
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
        let new =
            self.resource_body.map(|item| ItemVersion { bytes: item.to_string().len(), item });
        Some(Write { kind, within: WriteScope::Transaction, id, new, n_patches: 0 })
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

#[cfg(test)]
mod tests {
    use azure_core::http::{Method, Request, Url};
    use cosmos_model::charges::policy::IndexingPolicy;
    use serde_json::{Value, json};

    use super::super::super::operation::ContainerPath;
    use super::{DataRequest, ItemVersion, RequestKind, Write};

    fn writes(kind: RequestKind, item: Option<&str>, body: &Value) -> Vec<Write> {
        let url = Url::parse("http://localhost/dbs/d/colls/c/docs").unwrap();
        let mut request = Request::new(url, Method::Post);
        request.set_body(body.to_string());
        let container = &ContainerPath { database: "d".into(), container: "c".into() };
        Write::from_request(DataRequest { kind, container, item, request: &request })
    }

    #[test]
    fn a_patch_costs_by_what_it_did_to_the_item_and_by_its_operations() {
        let version = |a: u32| ItemVersion { item: json!({ "id": "1", "a": a }), bytes: 9 };
        let operation = json!({ "op": "incr", "path": "/a", "value": 1 });
        let mut charges = Vec::new();
        for n in [1, 3] {
            let body = json!({ "operations": vec![operation.clone(); n] });
            let write = writes(RequestKind::Patch, Some("1"), &body).pop().unwrap();
            assert!(write.follows() && write.needs_a_look_after());
            assert_eq!(write.id.as_deref(), Some("1"));
            let policy = IndexingPolicy::default();
            let charge = write.charge(Some(version(1)), Some(version(2)), &policy).unwrap();
            charges.push(format!("{charge:.2}"));
        }
        // Twice 4.95, four removed terms and four new ones, and the operations.
        assert_eq!(charges, ["11.90", "12.70"]);
    }
}
