//! Lists under a parent that lives in the same logical partition as its children.
//!
//! One query brings the parent and a page of children: the parent sorts first, since its type
//! comes after that of the children in the alphabet. The filter and the order both begin with the
//! partition key, as the composite indexes do, so the index is entered at the first item of the
//! page (`tests/it/infra/queries.rs`). So a list costs one store request even when
//! it is empty, and nobody sees children of a parent that does not exist or was just deleted. The
//! parent's content is not read out of the store.

use axum::Json;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    cosmos::{Container, Query, Scope, StoreError, confirm},
    http::{ApiError, List, PageRequest},
    values::Timestamp,
};

/// What a list is of, and how it is sorted.
pub(super) struct Children {
    /// The property that is the partition key.
    pub(super) key: &'static str,
    /// The parent's type, and its name for a 404.
    pub(super) parent: &'static str,
    /// The children's type; it comes before the parent's in the alphabet.
    pub(super) child: &'static str,
    /// The filter that leaves parent and children of what is in the logical partition. One range
    /// where no other type is between the two: that is one look into the index instead of two.
    pub(super) types: &'static str,
    /// The projection of a child, as an object of Cosmos DB SQL.
    pub(super) shape: &'static str,
    /// Whether the newest come first.
    pub(super) newest_first: bool,
}

/// Where a page of a list ends: creation date and id of its last item, as the store sorts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortKey(pub Timestamp, pub String);

#[derive(Deserialize)]
struct Row<T> {
    child: Option<T>,
}

impl Children {
    /// A page of the children in a logical partition.
    pub(super) async fn list<T: DeserializeOwned + Send + 'static>(
        &self,
        container: &Container,
        partition: &str,
        page: PageRequest<SortKey>,
        key: impl Fn(&T) -> SortKey,
    ) -> Result<Json<List<T>>, ApiError> {
        let with_parent = page.fetch() + 1;
        let find = async |reads| {
            let query = self.query(partition, with_parent, page.after.as_ref())?;
            let scope = Scope::Partition(partition);
            let rows: Vec<Row<T>> =
                container.reading(reads).query(query, scope, with_parent).await?;
            let mut rows = rows.into_iter();
            match rows.next() {
                Some(Row { child: None }) => Ok(rows),
                _ => Err(ApiError::NotFound(self.parent)),
            }
        };
        let rows = confirm(find).await?;
        Ok(Json(page.page(rows.filter_map(|row| row.child).collect(), key)))
    }

    fn query(
        &self,
        partition: &str,
        top: u32,
        after: Option<&SortKey>,
    ) -> Result<Query, StoreError> {
        let Self { key, types, shape, newest_first, .. } = self;
        let (order, later) = if *newest_first { ("DESC", '<') } else { ("ASC", '>') };
        // The range on the creation date alone is what the index can seek.
        let page = match after {
            None => String::new(),
            Some(_) => format!(
                "AND (c.type = @parent OR (c.creationDate {later}= @date \
                 AND (c.creationDate {later} @date OR c.id {later} @id)))"
            ),
        };
        let text = format!(
            "SELECT TOP @top (c.type = @child ? {shape} : undefined) AS child FROM c \
             WHERE c.{key} = @partition AND {types} {page} \
             ORDER BY c.{key} DESC, c.type DESC, c.creationDate {order}, c.id {order}"
        );
        let mut query = Query::from(text)
            .with_parameter("@top", top)?
            .with_parameter("@partition", partition)?
            .with_parameter("@child", self.child)?
            .with_parameter("@parent", self.parent)?;
        if let Some(SortKey(date, id)) = after {
            query = query.with_parameter("@date", date)?.with_parameter("@id", id)?;
        }
        Ok(query)
    }
}
