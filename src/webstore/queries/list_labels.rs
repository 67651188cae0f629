//! `GET /categories` and `GET /tags`.

use axum::{Json, extract::State};
use tributary_functions::{
    cosmos::{Query, Scope, StoreError},
    http::{ApiError, List, PageRequest},
};

use super::name_key::NameKey;
use crate::webstore::{
    Catalog,
    model::{LabelId, LabelKind, PublicLabel},
};

/// All categories, or all tags, by name: one query in their partition.
pub async fn list_labels<Id: LabelId>(
    State(catalog): State<Catalog>,
    page: PageRequest<NameKey>,
) -> Result<Json<List<PublicLabel>>, ApiError> {
    let after = page.after.clone();
    let read = async |most| {
        let query = query(Id::KIND, most, after.as_ref())?;
        catalog.labels.query_rows(query, Scope::Partition(Id::KIND.as_str()), most).await
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
