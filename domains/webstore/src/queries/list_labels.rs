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

/// The list of the labels of one kind.
const LABEL_LIST: NameList =
    NameList { key: "type", kind: ("state", "live"), select: "c.id, c.name" };

/// Returns all categories, or all tags, by name: one query in their partition.
pub async fn list_labels<Id: LabelId>(
    State(catalog): State<Catalog>,
    page: PageRequest<NameKey<Name>>,
) -> Result<Json<List<PublicLabel>>, ApiError> {
    let key = |label: &PublicLabel| NameKey::new(&label.name, &label.id);
    Ok(Json(page.of_names(&LABEL_LIST, &catalog.labels, Id::KIND.as_str(), key).await?))
}
