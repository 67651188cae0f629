//! Lists of children under their parent, which lives in the same logical partition.
//!
//! One query returns the parent and a page of children, sorted by type, date and id, so that the parent comes
//! first. So a list under a missing or deleted parent is told from an empty one. The parent's content is read
//! only where it is asked for ([`ChildList::with_parent`]).
//!
//! # How a domain uses it
//!
//! 1. A `const` of [`ChildList`] for each list.
//! 2. A composite index in `infra/containers.json` over partition key, type, date and id, sorted as the query
//!    sorts: it is entered at the first item of the page (`tests/it/infra/indexes.rs`).
//! 3. The parent has the date, too: a composite index may leave out items that lack one of its properties.
//! 4. The handler takes a [`PageRequest`](crate::http::PageRequest) with a [`SortKey`] and calls its
//!    `of_children`. With a [`DateRange`] as its filter, callers choose a range of dates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    cosmos::{Container, JsonText, Query, RowResult, Scope, StoreError},
    values::{Timestamp, stored_id},
};

/// The parent, the children and the order of a list.
pub struct ChildList {
    /// The property that is the partition key.
    pub key: &'static str,
    /// The parent's type, and its name for a 404.
    pub parent: &'static str,
    /// The children's type.
    pub child: &'static str,
    /// The filter that keeps only parent and children: one range if no other type lies between the two types.
    pub types: &'static str,
    /// The property with the date of a child, which its shape has, too.
    pub date: &'static str,
    /// The beginning of a child's id, where its shape leaves that out.
    pub id_prefix: &'static str,
    /// The projection of a child, as an object of Cosmos DB SQL.
    pub shape: &'static str,
    /// The order of the children.
    pub order: ListOrder,
}

/// The order of the children of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    /// The newest first.
    NewestFirst,
    /// The oldest first.
    OldestFirst,
}

/// The end of a page of a list: date and id of its last item, as the store sorts them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SortKey(pub Timestamp, #[serde(deserialize_with = "stored_id")] pub String);

impl SortKey {
    /// Returns the position, newest first, from which a list has only items before `moment`.
    pub fn before(moment: Timestamp) -> Self {
        Self(moment, String::new())
    }

    /// Returns the end of the rest of a list, newest first: all items after this position are before it.
    pub fn end(&self) -> Timestamp {
        if self.1.is_empty() { self.0 } else { self.0.next() }
    }
}

/// A range of dates of children: from a moment, inclusive, until another, exclusive. The default has all dates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DateRange {
    /// The first date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// The first date after the range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl DateRange {
    /// Returns true if a date is in the range.
    pub fn has(&self, date: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= date) && self.until.is_none_or(|until| date < until)
    }
}

impl From<()> for DateRange {
    fn from((): ()) -> Self {
        Self::default()
    }
}

#[derive(Deserialize)]
struct OmittedParent {}

#[derive(Deserialize)]
struct ListRow<P, C> {
    parent: Option<P>,
    child: Option<C>,
}

#[derive(Deserialize)]
struct UnreadableChild {
    child: BTreeMap<String, Value>,
}

impl ChildList {
    /// Returns at most `most` children of a partition with dates in a range, from the beginning or after `after`;
    /// `None` if there is no parent. [`Self::position`] is that of an unreadable child.
    pub async fn page<C: DeserializeOwned>(
        &self,
        container: &Container,
        partition: &str,
        most: u32,
        range: DateRange,
        after: Option<&SortKey>,
    ) -> Result<Option<Vec<RowResult<C>>>, StoreError> {
        let query = self.query(partition, most, range, after, None)?;
        let found = Self::find::<OmittedParent, C>(container, partition, most, query).await?;
        Ok(found.map(|(_, children)| children))
    }

    /// Returns the position of an unreadable child; `None` if its date or id is unreadable, too.
    pub fn position(&self, row: &JsonText) -> Option<SortKey> {
        let UnreadableChild { child } = row.parse()?;
        let text = |name| child.get(name)?.as_str();
        let date = Timestamp::parse(text(self.date)?).ok()?;
        Some(SortKey(date, format!("{}{}", self.id_prefix, text("id")?)))
    }

    /// Returns the parent, in a `shape` of SQL, with its first `most` readable children; `None` without a parent.
    pub async fn with_parent<P: DeserializeOwned, C: DeserializeOwned>(
        &self,
        container: &Container,
        partition: &str,
        most: u32,
        shape: &str,
    ) -> Result<Option<(P, Vec<C>)>, StoreError> {
        let query = self.query(partition, most, DateRange::default(), None, Some(shape))?;
        let found = Self::find(container, partition, most, query).await?;
        let Some((Some(parent), children)) = found else { return Ok(None) };
        Ok(Some((parent, children.into_iter().flatten().collect())))
    }

    async fn find<P: DeserializeOwned, C: DeserializeOwned>(
        container: &Container,
        partition: &str,
        most: u32,
        query: Query,
    ) -> Result<Option<(Option<P>, Vec<RowResult<C>>)>, StoreError> {
        let scope = Scope::Partition(partition);
        let rows: Vec<RowResult<ListRow<P, C>>> =
            container.query_rows(query, scope, most.saturating_add(1)).await?;
        let mut rows = rows.into_iter();
        let Some(Ok(ListRow { parent, child: None })) = rows.next() else { return Ok(None) };
        let child = |row: RowResult<ListRow<P, C>>| row.map(|member| member.child).transpose();
        Ok(Some((parent, rows.filter_map(child).collect())))
    }

    fn query(
        &self,
        partition: &str,
        most: u32,
        DateRange { from, until }: DateRange,
        after: Option<&SortKey>,
        parent_shape: Option<&str>,
    ) -> Result<Query, StoreError> {
        let Self { key, date, types, shape, .. } = self;
        let (order, later) = match self.order {
            ListOrder::NewestFirst => ("DESC", '<'),
            ListOrder::OldestFirst => ("ASC", '>'),
        };
        // The parent comes first.
        let type_order = if self.parent < self.child { "ASC" } else { "DESC" };
        // The index seeks the range on the date alone.
        let dates: Vec<_> = [
            from.map(|_| format!("c.{date} >= @from")),
            until.map(|_| format!("c.{date} < @until")),
            after.map(|_| {
                format!("c.{date} {later}= @date AND (c.{date} {later} @date OR c.id {later} @id)")
            }),
        ]
        .into_iter()
        .flatten()
        .collect();
        let page = match dates.as_slice() {
            [] => String::new(),
            dates => format!("AND (c.type = @parent OR ({}))", dates.join(" AND ")),
        };
        let parent = match parent_shape {
            None => String::new(),
            Some(shape) => format!(", (c.type = @parent ? {shape} : undefined) AS parent"),
        };
        let text = format!(
            "SELECT TOP @top (c.type = @child ? {shape} : undefined) AS child{parent} FROM c \
             WHERE c.{key} = @partition AND {types} {page} \
             ORDER BY c.{key} DESC, c.type {type_order}, c.{date} {order}, c.id {order}"
        );
        let mut query = Query::from(text)
            .with_parameter("@top", most.saturating_add(1))?
            .with_parameter("@partition", partition)?
            .with_parameter("@child", self.child)?
            .with_parameter("@parent", self.parent)?;
        for (name, date) in [("@from", from), ("@until", until)] {
            if let Some(date) = date {
                query = query.with_parameter(name, date)?;
            }
        }
        if let Some(SortKey(date, id)) = after {
            query = query.with_parameter("@date", date)?.with_parameter("@id", id)?;
        }
        Ok(query)
    }
}
