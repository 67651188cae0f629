//! `GET /categories`.

use axum::{Json, extract::State};

use super::{label, name_key::NameKey};
use crate::webstore::{
    catalog::Catalog,
    model::{LabelKind, PublicLabel},
};
use tributary_functions::http::{ApiError, List, PageRequest};

/// All categories by name.
pub async fn list_categories(
    State(catalog): State<Catalog>,
    page: PageRequest<NameKey>,
) -> Result<Json<List<PublicLabel>>, ApiError> {
    label::list(&catalog, LabelKind::Category, page).await
}
