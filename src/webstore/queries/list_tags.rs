//! `GET /tags`.

use axum::{Json, extract::State};

use super::{label, name_key::NameKey};
use crate::webstore::{
    catalog::Catalog,
    model::{LabelKind, PublicLabel},
};
use tributary_functions::http::{ApiError, List, PageRequest};

/// All tags by name.
pub async fn list_tags(
    State(catalog): State<Catalog>,
    page: PageRequest<NameKey>,
) -> Result<Json<List<PublicLabel>>, ApiError> {
    label::list(&catalog, LabelKind::Tag, page).await
}
