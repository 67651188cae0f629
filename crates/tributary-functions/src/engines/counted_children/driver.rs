//! The driver of groups: it sends their requests to the store.

use std::{collections::HashMap, marker::PhantomData, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    CHILD_BYTES, Family,
    group::{Group, GroupStep, NewETags, StoreAnswer, Write},
    operation::{Change, ChildWrite, Operation, OperationResult, ParentState},
};
use crate::{
    cosmos::{Combine, Container, Refusal, Scope, StoreError, Stored, Transaction},
    values::Timestamp,
};

pub(super) struct Groups<F>(Container, PhantomData<fn() -> F>);

impl<F> Groups<F> {
    pub(super) fn new(container: Container) -> Self {
        Self(container, PhantomData)
    }
}

impl<F: Family> Combine for Groups<F> {
    type Key = F::Key;
    type Operation = Operation<F>;
    type Outcome = OperationResult<F>;
    type Memory = Option<ParentState<F>>;

    /// With the parent itself, as many as a transaction takes.
    const MAX_GROUP_OPERATIONS: usize = 99;
    /// A transaction takes 2 MB, of which the parent may need half. A group that is too large is sent in halves.
    const MAX_GROUP_BYTES: usize = 1_000_000;

    fn target(operation: &Operation<F>) -> String {
        // No child has the empty id: this is the parent.
        operation.child_id().unwrap_or_default()
    }

    fn size(operation: &Operation<F>) -> usize {
        match &operation.change {
            Change::Create(child) => F::size(child),
            Change::Delete(..) | Change::Edit(_) => CHILD_BYTES,
        }
    }

    async fn carry_out(
        &self,
        key: &F::Key,
        operations: Vec<Operation<F>>,
        remembered: &mut Option<ParentState<F>>,
    ) -> Vec<OperationResult<F>> {
        let parent_read = operations.iter().find_map(|operation| operation.parent_read.clone());
        let parent = remembered.take().or(parent_read);
        let mut group = Group::new(operations, Timestamp::now());
        let mut step = group.begin(parent);
        *remembered = loop {
            let container =
                if group.on_latest { self.0.latest_committed() } else { self.0.clone() };
            let answer = match step {
                GroupStep::ReadParent => read_parent(&container, key.as_ref()).await,
                GroupStep::Write(write) => Ok(match send(&container, key.as_ref(), write).await {
                    Ok(written) => StoreAnswer::Written(written),
                    Err(refusal) => StoreAnswer::Refused(refusal),
                }),
                GroupStep::Find(ids) => find(&container, key.as_ref(), &ids).await,
                GroupStep::End(parent) => break parent,
            };
            step = group.next(answer.unwrap_or_else(StoreAnswer::Failed));
        };
        group.outcomes()
    }
}

async fn read_parent<F: Family>(
    container: &Container,
    id: &str,
) -> Result<StoreAnswer<F>, StoreError> {
    let item = container.read(id, id).await?;
    let parent = item.and_then(|Stored { item, etag }: Stored<F::Item>| {
        Some(Arc::new(Stored { item: F::Parent::try_from(item).ok()?, etag }))
    });
    Ok(StoreAnswer::Parent(parent))
}

async fn send<I: Serialize + DeserializeOwned + Sync>(
    container: &Container,
    id: &str,
    write: Write<I>,
) -> Result<NewETags, Refusal> {
    let whole = |error: StoreError| Refusal { operation: None, error };
    let Write { parent, upon, children } = write;
    if children.is_empty() {
        let parent = container.replace(id, id, &parent, &upon).await.map_err(whole)?;
        return Ok(NewETags { parent, children: Vec::new() });
    }
    let mut transaction = Transaction::new(id);
    for child in children {
        transaction = match child {
            ChildWrite::Create(item) => transaction.create(&item).map_err(whole)?,
            ChildWrite::Delete(id, if_match) => transaction.delete(&id, if_match.as_ref()),
            ChildWrite::Replace(id, tombstone, etag) => {
                transaction.replace(&id, &tombstone, &etag).map_err(whole)?
            }
        };
    }
    let transaction = transaction.replace(id, &parent, &upon).map_err(whole)?;
    let mut children = container.transact(transaction).await?;
    let parent = children.pop().flatten().ok_or_else(|| whole(StoreError::unexpected()))?;
    Ok(NewETags { parent, children })
}

#[derive(Deserialize)]
#[serde(bound = "I: DeserializeOwned")]
struct ItemRow<I> {
    id: String,
    item: Stored<I>,
}

async fn find<F: Family>(
    container: &Container,
    partition: &str,
    ids: &[String],
) -> Result<StoreAnswer<F>, StoreError> {
    if let [id] = ids {
        let item = container.read(partition, id).await?;
        return Ok(StoreAnswer::Found(item.map(|item| (id.clone(), item)).into_iter().collect()));
    }
    let select = "c.id AS id, c AS item";
    let rows: Vec<ItemRow<F::Item>> =
        container.query_ids(Scope::Partition(partition), select, ids).await?;
    let stored = |row: ItemRow<F::Item>| (row.id, row.item);
    Ok(StoreAnswer::Found(rows.into_iter().map(stored).collect::<HashMap<_, _>>()))
}
