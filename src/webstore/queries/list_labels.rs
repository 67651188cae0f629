//! `GET /categories` and `GET /tags`.

use axum::{Json, extract::State};
use tributary_functions::{
    engines::name_list::{NameKey, NameList},
    http::{ApiError, List, PageRequest},
};

use crate::{
    Catalog,
    model::{LabelId, Name, PublicLabel},
};

/// Categories, or tags.
const LABELS: NameList = NameList { key: "type", kind: ("state", "live"), select: "c.id, c.name" };

/// All categories, or all tags, by name: one query in their partition.
pub async fn list_labels<Id: LabelId>(
    State(catalog): State<Catalog>,
    page: PageRequest<NameKey<Name>>,
) -> Result<Json<List<PublicLabel>>, ApiError> {
    let key = |label: &PublicLabel| NameKey::new(&label.name, &label.id);
    Ok(Json(page.of_names(&LABELS, &catalog.labels, Id::KIND.as_str(), key).await?))
}
