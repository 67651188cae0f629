//! What categories and tags have in common.

use axum::Json;
use tributary_functions::{
    cosmos::{Query, Scope, StoreError, confirm},
    http::{ApiError, Conditions, ItemResponse, List, PageRequest, found},
};

use super::name_key::NameKey;
use crate::webstore::{
    catalog::Catalog,
    model::{LabelKind, PublicLabel},
};

/// A category or a tag: one point read.
pub(super) async fn get(
    catalog: &Catalog,
    kind: LabelKind,
    id: &str,
    conditions: &Conditions,
) -> Result<ItemResponse<PublicLabel>, ApiError> {
    let find = async |reads| {
        let label = catalog.reading(reads).live_label(kind, id).await?;
        label.ok_or(ApiError::NotFound(kind.as_str()))
    };
    let label = confirm(find).await?;
    Ok(found(conditions, &label.item.public, &label.etag))
}

/// All labels of a kind by name: one query in their partition.
pub(super) async fn list(
    catalog: &Catalog,
    kind: LabelKind,
    page: PageRequest<NameKey>,
) -> Result<Json<List<PublicLabel>>, ApiError> {
    let after = page.after.clone();
    let read = async |most| {
        let query = query(kind, most, after.as_ref())?;
        catalog.labels.query_rows(query, Scope::Partition(kind.as_str()), most).await
    };
    let key = |label: &PublicLabel| NameKey::new(&label.name, &label.id);
    Ok(Json(page.read(read, key, NameKey::of_row).await?))
}

fn query(kind: LabelKind, top: u32, after: Option<&NameKey>) -> Result<Query, StoreError> {
    let text = format!(
        "SELECT TOP @top c.id, c.name FROM c WHERE c.type = @type AND c.state = 'live' {} \
         ORDER BY c.type ASC, c.state ASC, c.sortName ASC, c.id ASC",
        NameKey::filter(after)
    );
    let query = Query::from(text).with_parameter("@top", top)?.with_parameter("@type", kind)?;
    NameKey::parameters(after, query)
}
